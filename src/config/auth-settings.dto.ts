import { Type } from 'class-transformer';
import {
  ArrayNotEmpty,
  ArrayUnique,
  IsArray,
  IsBoolean,
  IsDefined,
  IsIn,
  IsOptional,
  Matches,
  ValidateNested,
} from 'class-validator';
import { type Claims, findClaimsIssues, MAX_CLAIMS } from '../claims/claims.js';
import { elements, isObject, member, parsePointer, type Pointer } from '../json/json-values.js';
import { ValidateClass } from '../validation/class-validation.js';
import {
  decoratorFor,
  decoratorOf,
  HasUniqueNames,
  IsBaseUrl,
  IsDuration,
  IsFileName,
  IsHttpOrigin,
  IsHttpUrl,
  IsSecureUrl,
  IsSomeClaims,
  IsText,
  textDecorator,
  textProblem,
} from '../validation/decorators.js';
import { below, foundKind, issue } from '../validation/value-checks.js';

/** How one claim is computed from a provider's tokens (reference/configuration, reference/access). */
export type ClaimRule =
  | {
      readonly to: string;
      /** Location of the value in the token. */
      readonly from: Pointer;
      /**
       * The text around the part of a value that is used; values that don't fit are dropped. Null to use the whole
       * value.
       */
      readonly pattern: ClaimPattern | null;
      /** Translates values and drops unlisted ones. Null to keep values unchanged. */
      readonly values: ReadonlyMap<string, string> | null;
    }
  | {
      readonly to: string;
      readonly value: string;
      /** Claims that the token must cover for the rule to apply. Null if the rule always applies. */
      readonly when: Claims | null;
    };

/** reference/configuration: text before and after the `*` of a pattern. */
export interface ClaimPattern {
  readonly before: string;
  readonly after: string;
}

/** Where to fetch groups: the provider's userinfo endpoint or a URL. */
export type GroupsLocation = { readonly from: 'userinfo' } | { readonly url: string };

const MAX_VALUES = 10_000;
/** Claims that cannot be mapped, because they identify the caller (reference/access). */
const RESERVED = ['iss', 'sub'];

const IsPointer = textDecorator('isPointer', (text) =>
  (parsePointer(text) ?? []).length === 0
    ? 'must be a JSON Pointer starting with "/", such as /groups or /realm_access/roles'
    : undefined,
);

const IsClaimName = textDecorator('isClaimName', (text) =>
  RESERVED.includes(text)
    ? 'must not be iss or sub: these are never mapped'
    : findClaimsIssues({ [text]: 'any' })[0]?.message,
);

const IsTranslations = () =>
  decoratorOf('isTranslations', (value) => {
    if (!isObject(value)) return issue(`must be a map, not ${foundKind(value)}`);
    const entries = Object.entries(value);
    if (entries.length === 0) return issue('must not be empty: unlisted values are dropped');
    if (entries.length > MAX_VALUES) return issue(`must not have more than ${MAX_VALUES} members`);
    return entries.flatMap(([key, member]) => {
      const problem = textProblem(member);
      return problem === undefined ? [] : below([key], issue(problem));
    });
  });

/** reference/configuration: a rule in a provider's `claims`. It sets either a value from the token or a constant. */
@ValidateClass<ClaimRuleSettings>((rule) => {
  const { from, pattern, values, value, when } = rule;
  if ((from === undefined) === (value === undefined))
    return issue('needs either from (a JSON Pointer into the token) or value (a constant)');
  if (value !== undefined && values !== undefined) return below(['values'], issue('needs from'));
  if (value !== undefined && pattern !== undefined) return below(['pattern'], issue('needs from'));
  return from !== undefined && when !== undefined ? below(['when'], issue('needs value')) : [];
})
export class ClaimRuleSettings {
  @IsClaimName() to: string;
  @IsOptional() @IsPointer() from?: string;
  @IsOptional()
  @IsText()
  @Matches(/^[^*]*\*[^*]*$/, {
    message: 'must have exactly one "*", which stands for the value to take, as in /teams/*',
  })
  pattern?: string;
  @IsOptional() @IsTranslations() values?: Record<string, string>;
  @IsOptional() @IsText() value?: string;
  @IsOptional() @IsSomeClaims() when?: Claims;
}

const HasFewKeys = decoratorFor(
  'hasFewKeys',
  (rules) => new Set(elements(rules).map((rule) => member(rule, 'to'))).size <= MAX_CLAIMS,
  `must not define more than ${MAX_CLAIMS} claims`,
);

/** reference/configuration: where to fetch groups that a token omits. */
@ValidateClass<GroupsSettings>(({ from, url }) =>
  (from === undefined) === (url === undefined) ? issue('needs either from: userinfo or url') : [],
)
export class GroupsSettings {
  @IsOptional() @IsIn(['userinfo']) from?: 'userinfo';
  @IsOptional() @IsSecureUrl() url?: string;
}

/** Converts validated settings into a rule. */
export function claimRuleOf({ to, from, pattern, values, value, when }: ClaimRuleSettings): ClaimRule {
  if (value !== undefined) return { to, value, when: when ?? null };
  return {
    to,
    from: parsePointer(from ?? '') ?? [],
    pattern: pattern === undefined ? null : patternOf(pattern),
    values: values === undefined ? null : new Map(Object.entries(values)),
  };
}

function patternOf(text: string): ClaimPattern {
  const [before = '', after = ''] = text.split('*');
  return { before, after };
}

export function groupsLocationOf({ url }: GroupsSettings): GroupsLocation {
  return url === undefined ? { from: 'userinfo' } : { url };
}

/**
 * When a provider's introspection endpoint is asked (reference/configuration): about tokens that no JWT check accepts, or also about
 * every verified JWT.
 */
export const INTROSPECTION_USES = ['fallback', 'always'] as const;
export type IntrospectionUse = (typeof INTROSPECTION_USES)[number];

/**
 * Whether tokens that look like ID tokens are refused (reference/configuration). The access tokens of some providers,
 * such as Dex, look like that.
 */
export const ID_TOKEN_USES = ['refuse', 'accept'] as const;
export type IdTokenUse = (typeof ID_TOKEN_USES)[number];

// RFC 6750 §2.1
const TOKEN_START = /^[A-Za-z0-9._~+/-]+$/;
const TOKEN_START_RULE = 'must be the start of a token: ASCII letters, digits and - . _ ~ + /';

/** reference/configuration: one identity provider. */
@ValidateClass<ProviderSettings>((provider) => {
  if (provider.clientSecretFile !== undefined && provider.clientId === undefined)
    return below(['clientId'], issue('is required with clientSecretFile'));
  if (provider.introspectionUrl !== undefined) return [];
  if (provider.tokenPrefix !== undefined)
    return below(['introspectionUrl'], issue('is required with tokenPrefix'));
  return provider.introspection === 'always'
    ? below(['introspectionUrl'], issue('is required with introspection: always'))
    : [];
})
export class ProviderSettings {
  @IsText() name: string;
  @IsBaseUrl() @IsSecureUrl() issuerUrl: string;
  @IsText() audience: string;
  @IsOptional() @IsSecureUrl() jwksUrl?: string;
  @IsOptional() @IsSecureUrl() introspectionUrl?: string;
  @IsOptional() @IsText() clientId?: string;
  @IsOptional() @IsFileName() clientSecretFile?: string;
  @IsOptional() @IsFileName() caCertPath?: string;
  @IsOptional() @IsFileName() authTokenFile?: string;
  @IsBoolean() allowPrivateIP = false;
  @IsOptional()
  @IsArray()
  @HasFewKeys()
  @ValidateNested({ each: true })
  @Type(() => ClaimRuleSettings)
  claims?: ClaimRuleSettings[];
  /** The claim whose value is shown as the caller's name; if absent, none is shown. Access does not depend on it. */
  @IsOptional() @IsText() displayName?: string;
  @IsIn(INTROSPECTION_USES) introspection: IntrospectionUse = 'fallback';
  /**
   * The prefix of the provider's opaque tokens. The provider is asked only about these, and no other provider is asked
   * about them.
   */
  @IsOptional() @IsText() @Matches(TOKEN_START, { message: TOKEN_START_RULE }) tokenPrefix?: string;
  @IsIn(ID_TOKEN_USES) idTokens: IdTokenUse = 'refuse';
  @IsDuration('0s', '120s') clockTolerance = '0s';
  @IsOptional() @ValidateNested() @Type(() => GroupsSettings) groups?: GroupsSettings;
  @IsArray() @IsHttpOrigin({ each: true }) @ArrayUnique() connectOrigins: string[] = [];
}

/**
 * reference/configuration: a caller who is refused whatever their token contains. An item without an issuer applies to
 * every provider.
 */
export class BlockedCaller {
  @IsOptional() @IsBaseUrl() issuer?: string;
  /** The subject as shown in the audit trail; may also be a client ID. */
  @IsText() subject: string;
}

// The realm is sent in quotes in WWW-Authenticate.
const QUOTABLE = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;
const QUOTABLE_RULE = 'must be printable ASCII without quotes or backslashes';

// RFC 6749 §3.3
export const IsScope = textDecorator('isScope', (text) =>
  /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(text)
    ? undefined
    : 'must be a scope: ASCII without spaces, quotes or backslashes',
);

// Public paths are compared with decoded paths, segment by segment. Other forms would match nothing or too much.
const IsPublicPath = textDecorator('isPublicPath', (path) => {
  if (!path.startsWith('/')) return 'must start with "/"';
  if (/[?#%\\\s]/.test(path)) return 'must be a path without query, fragment or percent-encoding';
  const steps = path.slice(1).split('/');
  if (steps.some((step) => step === '.' || step === '..')) return 'must not contain "." or ".." as a segment';
  const stars = steps.filter((step) => step.includes('*'));
  const starIsLast = stars.length === 0 || (stars.length === 1 && steps.at(-1) === '*');
  return starIsLast ? undefined : 'may contain "*" only as its last segment, as in /docs/*';
});

/** reference/configuration */
export class OAuthSettings {
  @IsBaseUrl() resourceUrl: string;
  @IsText() @Matches(QUOTABLE, { message: QUOTABLE_RULE }) realm = 'mcp-registry';
  @IsArray() @IsScope({ each: true }) @ArrayUnique() scopesSupported = [
    'mcp-registry:read',
    'mcp-registry:write',
  ];
  @IsArray() @IsPublicPath({ each: true }) @ArrayUnique() publicPaths: string[] = [];
  @IsOptional() @IsHttpUrl() resourceDocumentation?: string;
  @IsArray()
  @ArrayNotEmpty()
  @HasUniqueNames()
  @ValidateNested({ each: true })
  @Type(() => ProviderSettings)
  providers: ProviderSettings[];
  @IsArray() @ValidateNested({ each: true }) @Type(() => BlockedCaller) blocked: BlockedCaller[] = [];
}

/** reference/access: the rules that grant each role. A role without rules is granted to nobody. */
export class RoleSettings {
  @IsArray() @IsSomeClaims({ each: true }) superAdmin: Claims[] = [];
  @IsArray() @IsSomeClaims({ each: true }) manageSources: Claims[] = [];
  @IsArray() @IsSomeClaims({ each: true }) manageRegistries: Claims[] = [];
  @IsArray() @IsSomeClaims({ each: true }) manageEntries: Claims[] = [];
}

/** reference/configuration: choices that the specification leaves open. */
export class PolicySettings {
  @IsIn(['all', 'any']) arrayValues: 'all' | 'any' = 'all';
  @IsIn(['allow', 'deny']) unlabeled: 'allow' | 'deny' = 'allow';
  @IsIn(['managers', 'readers']) registryListing: 'managers' | 'readers' = 'managers';
}

export class AuthzSettings {
  @IsDefined() @ValidateNested() @Type(() => RoleSettings) roles: RoleSettings;
  @ValidateNested() @Type(() => PolicySettings) policy = new PolicySettings();
}

@ValidateClass<AuthSettings>((auth) =>
  auth.mode === 'oauth' && auth.oauth === undefined
    ? below(['oauth'], issue('is required in oauth mode, which is the default'))
    : [],
)
export class AuthSettings {
  @IsIn(['oauth', 'anonymous']) mode: 'oauth' | 'anonymous' = 'oauth';
  @IsOptional() @ValidateNested() @Type(() => OAuthSettings) oauth?: OAuthSettings;
  @IsOptional() @ValidateNested() @Type(() => AuthzSettings) authz?: AuthzSettings;
}
