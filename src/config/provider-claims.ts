import { type Claims, covers } from '../claims/claims.js';
import { type AuthConfig, type AuthzConfig, type Config, oauthInUse, type ProviderConfig } from './config.js';

/** The claims and roles that callers authenticated by a provider can get (reference/access). */
export interface ProviderReach {
  readonly provider: string;
  /** Null if any claim is possible. */
  readonly claims: readonly string[] | null;
  readonly roles: readonly string[];
}

/**
 * Lists the claims and roles that callers authenticated by each provider can get, whatever their tokens contain. All
 * conditions are assumed to be met, so no caller can get an unlisted role.
 */
export function providerReaches(auth: AuthConfig): ProviderReach[] {
  return (oauthInUse(auth)?.providers ?? []).map((provider) => ({
    provider: provider.name,
    claims: provider.claims ? ['iss', 'sub', ...new Set(provider.claims.map(({ to }) => to))] : null,
    roles: auth.authz
      ? Object.entries(auth.authz.roles)
          .filter(([, rules]) => rules.some((rule) => mayAssert(provider, rule)))
          .map(([role]) => role)
      : ['all, because auth.authz is absent'],
  }));
}

/**
 * Returns whether a token from the provider can give a caller all of these keys.
 *
 * @param arrays whether the caller needs all values of an array or any of them.
 */
export function mayAssert(
  provider: ProviderConfig,
  required: Claims,
  arrays: 'all' | 'any' = 'any',
): boolean {
  return Object.entries(required).every(([key, wanted]) => {
    const canYield = (value: string) => mayYield(provider, key, value);
    return arrays === 'all' ? [wanted].flat().every(canYield) : [wanted].flat().some(canYield);
  });
}

function mayYield({ issuerUrl, claims }: ProviderConfig, key: string, value: string): boolean {
  if (key === 'iss') return value === issuerUrl;
  if (!claims || key === 'sub') return true;
  return claims.some((rule) => {
    if (rule.to !== key) return false;
    if ('value' in rule) return rule.value === value;
    // reference/configuration: the part of a value that matches a pattern is neither empty nor does it contain a slash.
    const fits = (text: string) => rule.pattern === null || (text !== '' && !text.includes('/'));
    return rule.values ? [...rule.values].some(([from, to]) => to === value && fits(from)) : fits(value);
  });
}

/** Maximum number of warnings about claims. */
const MAX_WARNINGS = 20;

interface Required {
  readonly place: string;
  readonly claims: Claims;
  readonly arrays: 'all' | 'any';
  /** The consequence if nobody can have the claims. */
  readonly consequence: string;
  /** Whether `anonymous` and keys can also satisfy the claims. */
  readonly isForReaders: boolean;
}

/** Warns about claims that no caller can have, because every provider has a mapping and none yields them (reference/explain). */
export function impossibleClaims(config: Pick<Config, 'auth' | 'sources' | 'registries'>): string[] {
  const { auth, registries } = config;
  const providers = oauthInUse(auth)?.providers ?? [];
  if (!auth.authz || providers.length === 0 || providers.some(({ claims }) => !claims)) return [];
  const granted = registries.flatMap(({ anonymousClaims, keys }) => [
    ...(anonymousClaims ? [anonymousClaims] : []),
    ...keys.map(({ claims }) => claims),
  ]);
  const warnings = requiredClaims(config, auth.authz).flatMap(
    ({ place, claims, arrays, consequence, isForReaders }) => {
      const readers = isForReaders ? granted : [];
      const isPossible = (required: Claims) =>
        providers.some((provider) => mayAssert(provider, required, arrays)) ||
        readers.some((held) => covers(held, required, arrays));
      const missing = Object.entries(claims).flatMap(([key, values]) =>
        [values].flat().flatMap((value) => (isPossible({ [key]: value }) ? [] : [`${key}=${value}`])),
      );
      const then = isPossible(claims) ? '' : `, so ${consequence}`;
      if (missing.length > 0) return [`${place}: no provider's claims yield ${missing.join(', ')}${then}`];
      return then === ''
        ? []
        : [`${place}: no provider's claims yield all of ${Object.keys(claims).join(', ')}${then}`];
    },
  );
  const more = warnings.length - MAX_WARNINGS;
  return [
    ...warnings.slice(0, MAX_WARNINGS),
    ...(more > 0 ? [`${more} more places require claims that no provider's claims yield`] : []),
  ];
}

function requiredClaims(
  { sources, registries }: Pick<Config, 'sources' | 'registries'>,
  { roles, policy: { arrayValues } }: AuthzConfig,
): Required[] {
  return [
    ...Object.entries(roles).flatMap(([role, rules]) =>
      rules.map((claims, position) => ({
        place: `auth.authz.roles.${role}[${position}]`,
        claims,
        arrays: 'any' as const,
        consequence: 'the rule grants the role to nobody',
        isForReaders: false,
      })),
    ),
    ...sources.flatMap(({ name, claims, settings }, position) => [
      {
        place: `sources[${position}].claims (${name})`,
        claims,
        arrays: arrayValues,
        consequence: 'only super-admins reach it',
        isForReaders: true,
      },
      ...('names' in settings ? (settings.names ?? []) : []).map((rule, index) => ({
        place: `sources[${position}].managed.names[${index}].claims (${name})`,
        claims: rule.claims,
        arrays: 'all' as const,
        consequence: 'only super-admins publish these names',
        isForReaders: false,
      })),
    ]),
    ...registries.map(({ name, claims }, position) => ({
      place: `registries[${position}].claims (${name})`,
      claims,
      arrays: arrayValues,
      consequence: 'only super-admins enter it',
      isForReaders: true,
    })),
  ];
}
