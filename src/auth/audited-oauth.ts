import { scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import type { ClaimRule } from '../config/auth-settings.dto.js';
import type { OAuthConfig, ProviderConfig } from '../config/config.js';
import type { Pointer } from '../json/json-values.js';
import { withoutQuery } from '../validation/redaction.js';

const SECRETS = ['clientSecret', 'caCert', 'authTokenFile'] as const;
type Secret = (typeof SECRETS)[number];

type AppliedProvider = Pick<ProviderConfig, 'name' | 'jwksUrl' | 'introspectionUrl' | 'groups' | Secret>;

/** `auth.oauth` as stored in the database to detect changes; secrets are stored as slow digests. */
export interface AppliedOAuth {
  readonly providers: readonly AppliedProvider[];
}

/** Returns `auth.oauth` as spelled in the configuration file, with digests of the secrets. */
export async function appliedOAuth({ providers, ...others }: OAuthConfig): Promise<AppliedOAuth> {
  const form = { ...others, providers: await Promise.all(providers.map(appliedProvider)) };
  return JSON.parse(JSON.stringify(form)) as AppliedOAuth;
}

async function appliedProvider({ claims, clockToleranceMs, ...provider }: ProviderConfig) {
  const digests = SECRETS.flatMap((name) => {
    const secret = provider[name];
    return secret === undefined
      ? []
      : [secretDigest(secret, `${provider.name} ${name}`).then((d) => [name, d])];
  });
  return {
    ...provider,
    ...(Object.fromEntries(await Promise.all(digests)) as { [S in Secret]?: string }),
    clockTolerance: `${clockToleranceMs}ms`,
    ...(claims ? { claims: claims.map(declaredRule) } : {}),
  };
}

/** A slow digest, because a secret may be short enough to be guessed. */
export async function secretDigest(secret: string, salt: string): Promise<string> {
  const digest = await promisify<string, string, number, Buffer>(scrypt)(secret, salt, 32);
  return digest.toString('base64url');
}

function declaredRule(rule: ClaimRule): object {
  if ('value' in rule) return { to: rule.to, value: rule.value, ...(rule.when ? { when: rule.when } : {}) };
  const { from, to, pattern, values } = rule;
  return {
    from: pointerText(from),
    to,
    ...(pattern ? { pattern: `${pattern.before}*${pattern.after}` } : {}),
    ...(values ? { values: Object.fromEntries(values) } : {}),
  };
}

function pointerText(pointer: Pointer): string {
  return pointer.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/**
 * Returns the form for the audit trail: a secret is shown as `set`, or as `changed` if its digest differs from the one
 * in `before`, and URLs are shown without a query, which may contain a secret.
 */
export function auditedOAuth(form: AppliedOAuth, before?: AppliedOAuth | null): object {
  return {
    ...form,
    providers: form.providers.map((provider) => {
      const old = before?.providers.find(({ name }) => name === provider.name);
      const shown = SECRETS.filter((name) => provider[name] !== undefined).map((name) => [
        name,
        old && old[name] !== provider[name] ? 'changed' : 'set',
      ]);
      const { jwksUrl, introspectionUrl, groups } = provider;
      return {
        ...provider,
        ...(jwksUrl === undefined ? {} : { jwksUrl: withoutQuery(jwksUrl) }),
        ...(introspectionUrl === undefined ? {} : { introspectionUrl: withoutQuery(introspectionUrl) }),
        ...(groups && 'url' in groups ? { groups: { url: withoutQuery(groups.url) } } : {}),
        ...(Object.fromEntries(shown) as object),
      };
    }),
  };
}
