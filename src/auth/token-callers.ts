import type { ProviderConfig } from '../config/config.js';
import { isObject } from '../json/json-values.js';
import type { Caller } from './caller.js';
import { ClaimsIncomplete, mapClaims, readsClaim } from './claim-mapping.js';
import type { FetchedGroups, GroupsFetcher } from './groups-fetcher.js';
import { callerOfClaims } from './token-claims.js';

const GROUPS = 'groups';
/** Of a token that says where else its claims are: OpenID Connect Core 1.0 §5.6.2. */
const ELSEWHERE = '_claim_names';
/** Of a token of Entra ID that leaves them out, and says no more than that there are some. */
const HAS_GROUPS = 'hasgroups';

/** Who a verified token identifies. */
export interface TokenCaller {
  readonly caller: Caller;
  /** By `performance.now()`: from then on it has to be found out anew. */
  readonly until: number;
  /** Of memory beside the token, in characters. */
  readonly size: number;
}

/** Makes callers of verified tokens of one provider: groups fetched where they are elsewhere, then claims mapped (contract §5). */
export class TokenCallers {
  private readonly needsGroups: boolean;
  // The same claims are the same caller: what is known of callers is known by them.
  private readonly callers = new WeakMap<
    object,
    { readonly groups: FetchedGroups | null; readonly caller: Caller }
  >();

  constructor(
    private readonly provider: Pick<ProviderConfig, 'claims'>,
    private readonly groups: GroupsFetcher | null,
  ) {
    this.needsGroups = readsClaim(provider.claims, GROUPS);
  }

  /**
   * @param claims those of the token, verified; the same object for as long as they are remembered.
   * @param client who sent it: see `clientKeyOf`.
   * @throws ClaimsIncomplete
   */
  async callerOf(
    token: string,
    claims: Readonly<Record<string, unknown>>,
    client: string,
  ): Promise<TokenCaller> {
    const fetched = this.lacksGroups(claims) ? await this.fetch(token, claims, client) : null;
    const known = this.callers.get(claims);
    const caller = known && known.groups === fetched ? known.caller : this.make(claims, fetched);
    this.callers.set(claims, { groups: fetched, caller });
    return { caller, until: fetched?.until ?? Infinity, size: fetched?.size ?? 0 };
  }

  // A list of names that can't be read might name the groups.
  private lacksGroups(claims: Readonly<Record<string, unknown>>): boolean {
    if (!this.needsGroups) return false;
    const names = claims[ELSEWHERE];
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
      throw new ClaimsIncomplete(
        'the groups of the token are elsewhere, and the provider has no groups configured',
      );
    return this.groups.groupsOf({ token, subject: sub, client });
  }

  private make(claims: Readonly<Record<string, unknown>>, fetched: FetchedGroups | null): Caller {
    const whole = fetched ? { ...claims, [GROUPS]: fetched.groups } : claims;
    return callerOfClaims(claims, this.provider.claims ? mapClaims(whole, this.provider.claims) : whole);
  }
}
