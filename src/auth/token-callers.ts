import type { ProviderConfig } from '../config/config.js';
import { isObject } from '../json/json-values.js';
import type { Caller } from './caller.js';
import { ClaimsIncomplete, mapClaims, readsClaim } from './claim-mapping.js';
import type { FetchedGroups, GroupsFetcher } from './groups-fetcher.js';
import { callerOfClaims, NO_SUBJECT, subjectIn } from './token-claims.js';

const GROUPS = 'groups';
/** Lists claims stored outside the token: OpenID Connect Core 1.0 §5.6.2. */
const CLAIM_NAMES = '_claim_names';
/** Set by Entra ID when the token omits groups. */
const HAS_GROUPS = 'hasgroups';

/** Claims that indicate that a token omits its groups. */
export const GROUPS_ELSEWHERE = [CLAIM_NAMES, HAS_GROUPS] as const;

/** A valid token that has neither a subject nor a client (reference/authentication). */
export class NoSubject extends Error {
  override readonly name = 'NoSubject';
}

export interface TokenCaller {
  readonly caller: Caller;
  /** Expiry, by `performance.now()`. */
  readonly until: number;
  /** Memory beyond the token itself, in characters. */
  readonly size: number;
}

/** Creates callers from one provider's tokens: fetches groups the token omits, then maps the claims (reference/access). */
export class TokenCallers {
  private readonly needsGroups: boolean;
  // Keyed by the claims object, so that one verified token keeps one Caller object.
  private readonly callers = new WeakMap<
    object,
    { readonly groups: FetchedGroups | null; readonly caller: Caller }
  >();

  constructor(
    private readonly provider: ProviderConfig,
    private readonly groups: Pick<GroupsFetcher, 'groupsOf'> | null,
  ) {
    this.needsGroups = readsClaim(provider.claims, GROUPS);
  }

  /**
   * @param claims Verified claims; also the cache key, so pass the same object for the same token.
   * @param client Client key of the sender: see `clientKeyOf`.
   * @throws NoSubject, ClaimsIncomplete
   */
  async callerOf(
    token: string,
    claims: Readonly<Record<string, unknown>>,
    client: string,
  ): Promise<TokenCaller> {
    if (subjectIn(claims) === undefined) throw new NoSubject(NO_SUBJECT);
    const fetched = this.lacksGroups(claims) ? await this.fetch(token, claims, client) : null;
    const cached = this.callers.get(claims);
    const caller = cached && cached.groups === fetched ? cached.caller : this.make(claims, fetched);
    this.callers.set(claims, { groups: fetched, caller });
    return { caller, until: fetched?.until ?? Infinity, size: fetched?.size ?? 0 };
  }

  // A malformed `_claim_names` is treated as if it listed the groups.
  private lacksGroups(claims: Readonly<Record<string, unknown>>): boolean {
    if (!this.needsGroups) return false;
    const names = claims[CLAIM_NAMES];
    if (names !== undefined && (!isObject(names) || Object.hasOwn(names, GROUPS))) return true;
    const hasSome = claims[HAS_GROUPS] === true || claims[HAS_GROUPS] === 'true';
    return this.groups !== null && hasSome && !Object.hasOwn(claims, GROUPS);
  }

  private fetch(
    token: string,
    { sub }: Readonly<Record<string, unknown>>,
    client: string,
  ): Promise<FetchedGroups> {
    if (!this.groups)
      throw new ClaimsIncomplete('the token omits its groups, and the provider has no groups configured');
    return this.groups.groupsOf({ token, subject: sub, client });
  }

  private make(claims: Readonly<Record<string, unknown>>, fetched: FetchedGroups | null): Caller {
    const whole = fetched ? { ...claims, [GROUPS]: fetched.groups } : claims;
    const { claims: rules } = this.provider;
    const caller = callerOfClaims(claims, this.provider, rules ? mapClaims(whole, rules) : whole);
    return { ...caller, token: { claims: whole, provider: this.provider } };
  }
}

/**
 * Returns the caller's claims as these providers map them. They may differ from the providers that accepted the token while a
 * reload is in progress, and for requests in progress after it. Fails closed: without a provider of the same name, issuer and
 * audience there are no claims.
 */
export function claimsUnder(
  providers: readonly ProviderConfig[],
  { claims, token }: Pick<Caller, 'claims' | 'token'>,
): Caller['claims'] {
  if (!token || providers.includes(token.provider)) return claims;
  const { name, issuerUrl, audience } = token.provider;
  const provider = providers.find(
    (one) => one.name === name && one.issuerUrl === issuerUrl && one.audience === audience,
  );
  if (!provider) return {};
  if (!provider.claims) return token.claims;
  try {
    return mapClaims(token.claims, provider.claims);
  } catch (error) {
    if (error instanceof ClaimsIncomplete) return {};
    throw error;
  }
}
