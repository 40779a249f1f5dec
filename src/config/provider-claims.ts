import type { Claims } from '../claims/claims.js';
import { type AuthConfig, oauthInUse, type ProviderConfig } from './config.js';

/** The claims and roles that callers authenticated by a provider can get (contract §5). */
export interface ProviderReach {
  readonly provider: string;
  /** Null: any claim. */
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

/** Returns whether a token from the provider can give a caller all of these keys, each with one of its values. */
export function mayAssert(provider: ProviderConfig, required: Claims): boolean {
  return Object.entries(required).every(([key, wanted]) => {
    const possible = valuesOf(provider, key);
    return possible === null || [wanted].flat().some((value) => possible.includes(value));
  });
}

/** Returns the possible values of a claim; null: any value. */
function valuesOf({ issuerUrl, claims }: ProviderConfig, key: string): readonly string[] | null {
  if (key === 'iss') return [issuerUrl];
  if (!claims || key === 'sub') return null;
  const rules = claims.filter(({ to }) => to === key);
  if (rules.some((rule) => 'from' in rule && rule.values === null)) return null;
  return rules.flatMap((rule) => ('from' in rule ? [...(rule.values?.values() ?? [])] : [rule.value]));
}
