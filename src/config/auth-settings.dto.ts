import { type Claims, MAX_CLAIMS } from '../claims/claims.js';
import { elements, isObject, member, parsePointer, type Pointer } from '../json/json-values.js';
import {
  IsBoolean,
  IsHttpUrl,
  IsIn,
  IsOptional,
  IsText,
  Validate,
  ValidateClass,
  ValidateNested,
} from '../validation/class-validation.js';
import { httpOrigin, isInsecure, parseHttpUrl } from '../validation/urls.js';
import {
  below,
  type Check,
  claims,
  durationFrom,
  foundKind,
  type Issue,
  issue,
  listOf,
  type Path,
  roleRule,
  text,
} from '../validation/value-checks.js';

/** How one claim is computed from a provider's tokens (reference/configuration, reference/access). */
export type ClaimRule =
  | {
      readonly to: string;
      /** Location of the value in the token. */
      readonly from: Pointer;
      /** The text around the part of a value that is used; values that don't fit are dropped. Null: the whole value. */
      readonly pattern: ClaimPattern | null;
      /** Translates values and drops unlisted ones. Null: values stay unchanged. */
      readonly values: ReadonlyMap<string, string> | null;
    }
  | {
      readonly to: string;
      readonly value: string;
      /** Claims that the token must cover for the rule to apply. Null: the rule always applies. */
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

const pointer: Check = text((value) => {
  const steps = parsePointer(value);
  return steps === undefined || steps.length === 0
    ? 'must be a JSON Pointer starting with "/", such as /groups or /realm_access/roles'
    : undefined;
});

const claimName: Check = (value) => {
  const issues = text()(value);
  if (issues.length > 0 || typeof value !== 'string') return issues;
  if (RESERVED.includes(value)) return issue('must not be iss or sub: these are never mapped');
  return claims({ [value]: 'any' }).map(({ message }) => ({ path: [], message }));
};

const translations: Check = (value) => {
  if (!isObject(value)) return issue(`must be a map, not ${foundKind(value)}`);
  const entries = Object.entries(value);
  if (entries.length === 0) return issue('must not be empty: unlisted values are dropped');
  if (entries.length > MAX_VALUES) return issue(`must not have more than ${MAX_VALUES} members`);
  return entries.flatMap(([key, member]) => below([key], text()(member)));
};

const pattern: Check = text((value) =>
  value.split('*').length === 2
    ? undefined
    : 'must have exactly one "*", which stands for the value to take, as in /teams/*',
);

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
  @Validate(claimName) to: string;
  @IsOptional() @Validate(pointer) from?: string;
  @IsOptional() @Validate(pattern) pattern?: string;
  @IsOptional() @Validate(translations) values?: Record<string, string>;
  @IsOptional() @IsText() value?: string;
  @IsOptional() @Validate(roleRule) when?: Claims;
}

/** reference/configuration: where to fetch groups that a token omits. */
@ValidateClass<GroupsSettings>(({ from, url }) =>
  (from === undefined) === (url === undefined) ? issue('needs either from: userinfo or url') : [],
)
export class GroupsSettings {
  @IsOptional() @IsIn(['userinfo']) from?: 'userinfo';
  @IsOptional() @IsHttpUrl() url?: string;
}

/** Limits how many claims the rules can set. */
export const fewKeys: Check = (rules): Issue[] =>
  new Set(elements(rules).map((rule) => member(rule, 'to'))).size > MAX_CLAIMS
    ? issue(`must not define more than ${MAX_CLAIMS} claims`)
    : [];

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

/** Whether tokens that look like ID tokens are refused (reference/configuration). Access tokens of some providers do, such as Dex. */
export const ID_TOKEN_USES = ['refuse', 'accept'] as const;
export type IdTokenUse = (typeof ID_TOKEN_USES)[number];

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
  @IsHttpUrl({ bare: true }) issuerUrl: string;
  @IsText() audience: string;
  @IsOptional() @IsHttpUrl() jwksUrl?: string;
  @IsOptional() @IsHttpUrl() introspectionUrl?: string;
  @IsOptional() @IsText() clientId?: string;
  @IsOptional() @IsText() clientSecretFile?: string;
  @IsOptional() @IsText() caCertPath?: string;
  @IsOptional() @IsText() authTokenFile?: string;
  @IsOptional() @IsBoolean() allowPrivateIP?: boolean;
  @IsOptional()
  @Validate(fewKeys)
  @ValidateNested(() => ClaimRuleSettings, { each: true })
  claims?: ClaimRuleSettings[];
  /** A claim whose value names the caller to people. It never decides anything. */
  @IsOptional() @IsText() displayName?: string;
  @IsOptional() @IsIn(INTROSPECTION_USES) introspection?: IntrospectionUse;
  /** How the provider's opaque tokens begin. It is asked only about these, and no other provider about them. */
  @IsOptional() @Validate(text(tokenStart)) tokenPrefix?: string;
  @IsOptional() @IsIn(ID_TOKEN_USES) idTokens?: IdTokenUse;
  @IsOptional() @Validate(durationFrom('0s', '120s')) clockTolerance?: string;
  @IsOptional() @ValidateNested(() => GroupsSettings) groups?: GroupsSettings;
  @IsOptional() @Validate(listOf(httpOrigin, { unique: true })) connectOrigins?: string[];
}

/** reference/configuration: a caller who is refused whatever their token says; without an issuer, of every provider. */
export class BlockedCaller {
  @IsOptional() @IsHttpUrl({ bare: true }) issuer?: string;
  /** The subject as the audit trail shows it; a client id too. */
  @IsText() subject: string;
}

/** reference/configuration */
@ValidateClass<OAuthSettings>(({ providers }) => {
  if (!Array.isArray(providers)) return [];
  const names = providers.map((provider: unknown) =>
    provider instanceof ProviderSettings ? provider.name : undefined,
  );
  return names.flatMap((name, position) =>
    name !== undefined && names.indexOf(name) < position
      ? below(
          ['providers', position, 'name'],
          issue(`${JSON.stringify(name)} is already the name of another provider`),
        )
      : [],
  );
})
export class OAuthSettings {
  @IsHttpUrl({ bare: true }) resourceUrl: string;
  @IsOptional() @IsText(headerText) realm?: string;
  @IsOptional() @Validate(listOf(text(scopeToken), { unique: true })) scopesSupported?: string[];
  @IsOptional() @Validate(listOf(text(publicPath), { unique: true })) publicPaths?: string[];
  @IsOptional() @IsHttpUrl() resourceDocumentation?: string;
  @ValidateNested(() => ProviderSettings, { each: true, notEmpty: true }) providers: ProviderSettings[];
  @IsOptional() @ValidateNested(() => BlockedCaller, { each: true }) blocked?: BlockedCaller[];
}

/** reference/access: the rules that grant each role. A role without rules is granted to nobody. */
export class RoleSettings {
  @IsOptional() @Validate(listOf(roleRule)) superAdmin?: Claims[];
  @IsOptional() @Validate(listOf(roleRule)) manageSources?: Claims[];
  @IsOptional() @Validate(listOf(roleRule)) manageRegistries?: Claims[];
  @IsOptional() @Validate(listOf(roleRule)) manageEntries?: Claims[];
}

/** reference/configuration: choices that the specification leaves open. */
export class PolicySettings {
  @IsOptional() @IsIn(['all', 'any']) arrayValues?: 'all' | 'any';
  @IsOptional() @IsIn(['allow', 'deny']) unlabeled?: 'allow' | 'deny';
  @IsOptional() @IsIn(['managers', 'readers']) registryListing?: 'managers' | 'readers';
}

export class AuthzSettings {
  @ValidateNested(() => RoleSettings) roles: RoleSettings;
  @IsOptional() @ValidateNested(() => PolicySettings) policy?: PolicySettings;
}

@ValidateClass<AuthSettings>((auth) =>
  (auth.mode ?? 'oauth') === 'oauth' && auth.oauth === undefined
    ? below(['oauth'], issue('is required in oauth mode, which is the default'))
    : [],
)
export class AuthSettings {
  @IsOptional() @IsIn(['oauth', 'anonymous']) mode?: 'oauth' | 'anonymous';
  @IsOptional() @ValidateNested(() => OAuthSettings) oauth?: OAuthSettings;
  @IsOptional() @ValidateNested(() => AuthzSettings) authz?: AuthzSettings;
}

// The realm is sent in quotes in WWW-Authenticate.
function headerText(value: string): string | undefined {
  return /^[\x20-\x7e]*$/.test(value) && !/["\\]/.test(value)
    ? undefined
    : 'must be printable ASCII without quotes or backslashes';
}

// RFC 6750 §2.1
function tokenStart(value: string): string | undefined {
  return /^[A-Za-z0-9._~+/-]+$/.test(value)
    ? undefined
    : 'must be the start of a token: ASCII letters, digits and - . _ ~ + /';
}

// RFC 6749 §3.3
function scopeToken(value: string): string | undefined {
  return /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(value)
    ? undefined
    : 'must be a scope: ASCII without spaces, quotes or backslashes';
}

// Public paths are compared with decoded paths, segment by segment. Other forms would match nothing, or too much.
function publicPath(value: string): string | undefined {
  if (!value.startsWith('/')) return 'must start with "/"';
  if (/[?#%\\\s]/.test(value)) return 'must be a path without query, fragment or percent-encoding';
  const steps = value.slice(1).split('/');
  if (steps.some((step) => step === '.' || step === '..')) return 'must not contain "." or ".." as a segment';
  const stars = steps.filter((step) => step.includes('*'));
  const starIsLast = stars.length === 0 || (stars.length === 1 && steps.at(-1) === '*');
  return starIsLast ? undefined : 'may contain "*" only as its last segment, as in /docs/*';
}

/**
 * reference/configuration: keys and responses fetched without TLS can be forged. Skips invalid providers; other checks report them.
 */
export function insecureUrls(oauth: unknown): Issue[] {
  if (!(oauth instanceof OAuthSettings)) return [];
  return [['issuerUrl'], ['jwksUrl'], ['introspectionUrl'], ['groups', 'url']].flatMap((keys) =>
    elements(oauth.providers).flatMap((provider, position) => {
      const url = parseHttpUrl(keys.reduce(member, provider));
      const path: Path = ['auth', 'oauth', 'providers', position, ...keys];
      return url && isInsecure(url)
        ? below(
            path,
            issue(
              'must be https:// (http:// is allowed on loopback, or for tests with REGISTRY_INSECURE_URLS=true)',
            ),
          )
        : [];
    }),
  );
}
