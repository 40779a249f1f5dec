import type { Claims } from '../claims/claims.js';
import { elements, member } from '../json/json-values.js';
import { Checked, Optional, Rule, Section, SectionList } from '../validation/class-checks.js';
import { below, type Issue, issue, type Path } from '../validation/problems.js';
import { httpOrigin, httpUrl, isInsecure, parseHttpUrl } from '../validation/urls.js';
import { flag, listOf, oneOf, roleRule, text } from '../validation/value-checks.js';
import { ClaimRuleSettings, fewKeys, GroupsSettings } from './providers/claim-settings.dto.js';

/** spec §2.8: one identity provider. */
@Rule<ProviderSettings>((provider) =>
  provider.clientSecretFile !== undefined && provider.clientId === undefined
    ? below(['clientId'], issue('is required beside clientSecretFile'))
    : [],
)
export class ProviderSettings {
  @Checked(text()) name: string;
  @Checked(httpUrl({ bare: true })) issuerUrl: string;
  @Checked(text()) audience: string;
  @Optional() @Checked(httpUrl()) jwksUrl?: string;
  @Optional() @Checked(httpUrl()) introspectionUrl?: string;
  @Optional() @Checked(text()) clientId?: string;
  @Optional() @Checked(text()) clientSecretFile?: string;
  @Optional() @Checked(text()) caCertPath?: string;
  @Optional() @Checked(text()) authTokenFile?: string;
  @Optional() @Checked(flag) allowPrivateIP?: boolean;
  @Optional() @Checked(fewKeys) @SectionList(() => ClaimRuleSettings) claims?: ClaimRuleSettings[];
  @Optional() @Section(() => GroupsSettings) groups?: GroupsSettings;
  @Optional() @Checked(listOf(httpOrigin, { unique: true })) connectOrigins?: string[];
}

/** spec §2.8 */
@Rule<OAuthSettings>(({ providers }) => {
  if (!Array.isArray(providers)) return [];
  const names = providers.map((provider: unknown) =>
    provider instanceof ProviderSettings ? provider.name : undefined,
  );
  return names.flatMap((name, position) =>
    name !== undefined && names.indexOf(name) < position
      ? below(
          ['providers', position, 'name'],
          issue(`${JSON.stringify(name)} is the name of another provider already`),
        )
      : [],
  );
})
export class OAuthSettings {
  @Checked(httpUrl({ bare: true })) resourceUrl: string;
  @Optional() @Checked(text(headerText)) realm?: string;
  @Optional() @Checked(listOf(text(scopeToken), { unique: true })) scopesSupported?: string[];
  @Optional() @Checked(listOf(text(publicPath), { unique: true })) publicPaths?: string[];
  @Optional() @Checked(httpUrl()) resourceDocumentation?: string;
  @SectionList(() => ProviderSettings, { notEmpty: true }) providers: ProviderSettings[];
}

/** spec §2.3: who has which role. A role without rules is nobody's. */
export class RoleSettings {
  @Optional() @Checked(listOf(roleRule)) superAdmin?: Claims[];
  @Optional() @Checked(listOf(roleRule)) manageSources?: Claims[];
  @Optional() @Checked(listOf(roleRule)) manageRegistries?: Claims[];
  @Optional() @Checked(listOf(roleRule)) manageEntries?: Claims[];
}

/** contract §2: choices where the specification leaves room. */
export class PolicySettings {
  @Optional() @Checked(oneOf('all', 'any')) arrayValues?: 'all' | 'any';
  @Optional() @Checked(oneOf('allow', 'deny')) unlabeled?: 'allow' | 'deny';
  @Optional() @Checked(oneOf('managers', 'readers')) registryListing?: 'managers' | 'readers';
}

export class AuthzSettings {
  @Section(() => RoleSettings) roles: RoleSettings;
  @Optional() @Section(() => PolicySettings) policy?: PolicySettings;
}

@Rule<AuthSettings>((auth) =>
  (auth.mode ?? 'oauth') === 'oauth' && auth.oauth === undefined
    ? below(['oauth'], issue('is required in mode oauth, which is the default'))
    : [],
)
export class AuthSettings {
  @Optional() @Checked(oneOf('oauth', 'anonymous')) mode?: 'oauth' | 'anonymous';
  @Optional() @Section(() => OAuthSettings) oauth?: OAuthSettings;
  @Optional() @Section(() => AuthzSettings) authz?: AuthzSettings;
}

// It is sent between quotes in WWW-Authenticate.
function headerText(value: string): string | undefined {
  return /^[\x20-\x7e]*$/.test(value) && !/["\\]/.test(value)
    ? undefined
    : 'must be plain ASCII without quotes and backslashes';
}

// RFC 6749 §3.3
function scopeToken(value: string): string | undefined {
  return /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(value)
    ? undefined
    : 'must be a scope: ASCII without spaces and quotes';
}

// Compared with whole segments of decoded paths: anything else would never match, or match too much.
function publicPath(value: string): string | undefined {
  if (!value.startsWith('/')) return 'must begin with "/"';
  if (/[?#%\\\s]/.test(value)) return 'must be a plain path: no query, no fragment, no percent-encoding';
  const steps = value.slice(1).split('/');
  if (steps.some((step) => step === '.' || step === '..')) return 'must not hold "." or ".." as a segment';
  const stars = steps.filter((step) => step.includes('*'));
  const starIsLast = stars.length === 0 || (stars.length === 1 && steps.at(-1) === '*');
  return starIsLast ? undefined : 'may hold "*" only as its last segment, as in /docs/*';
}

/** contract §2: a key or an answer fetched in clear can be forged on the way. What is no such object is passed over. */
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
              'must be https:// (http:// is for loopback only, or for tests with REGISTRY_INSECURE_URLS=true)',
            ),
          )
        : [];
    }),
  );
}
