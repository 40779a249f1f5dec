import type { Caller } from '../auth/caller.js';
import type { Role } from '../auth/route-access.js';

/**
 * What a mode of operation changes (contract §4), asked here and nowhere else. Chosen once at start. The classes of the
 * `oauth` modes stand beside this one as soon as tokens are verified.
 */
export abstract class AccessPolicy {
  /** May the caller act in this role? */
  abstract mayAct(caller: Caller, role: Role): boolean;
  /** The claim sets among these whose entries the caller sees. */
  abstract visibleClaimSets(caller: Caller, claimSetIds: readonly number[]): ReadonlySet<number>;
}

/** spec §1.2: no authentication, every check is bypassed. */
export class AnonymousPolicy extends AccessPolicy {
  mayAct(): boolean {
    return true;
  }

  visibleClaimSets(_caller: Caller, claimSetIds: readonly number[]): ReadonlySet<number> {
    return new Set(claimSetIds);
  }
}
