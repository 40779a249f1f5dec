import type { Claims } from '../claims/claims.js';
import { type AuthConfig, oauthInUse, type ProviderConfig } from './config.js';

/** Which claims the callers of a provider may come to hold (contract §5), and which roles by that. */
export interface ProviderReach {
  readonly provider: string;
  /** Null: any. */
  readonly claims: readonly string[] | null;
  readonly roles: readonly string[];
}

/**
 * What each provider can lead to, whatever it puts into its tokens. Conditions are taken for fulfilled: a role that is not
 * named is out of reach.
 */
export function providerReaches(auth: AuthConfig): ProviderReach[] {
  return (oauthInUse(auth)?.providers ?? []).map((provider) => ({
    provider: provider.name,
    claims: provider.claims ? ['iss', 'sub', ...new Set(provider.claims.map(({ to }) => to))] : null,
    roles: auth.authz
      ? Object.entries(auth.authz.roles)
          .filter(([, rules]) => rules.some((rule) => mayAssert(provider, rule)))
          .map(([role]) => role)
      : ['every one, for want of auth.authz'],
  }));
}

/** Might a token of the provider make a caller who holds all of these keys, each with one of its values? */
export function mayAssert(provider: ProviderConfig, required: Claims): boolean {
  return Object.entries(required).every(([key, wanted]) => {
    const possible = valuesOf(provider, key);
    return possible === null || [wanted].flat().some((value) => possible.includes(value));
  });
}

/** Null: any value. */
function valuesOf({ issuerUrl, claims }: ProviderConfig, key: string): readonly string[] | null {
  if (key === 'iss') return [issuerUrl];
  if (!claims || key === 'sub') return null;
  const rules = claims.filter(({ to }) => to === key);
  if (rules.some((rule) => 'from' in rule && rule.values === null)) return null;
  return rules.flatMap((rule) => ('from' in rule ? [...(rule.values?.values() ?? [])] : [rule.value]));
}
