import type { Caller } from '../auth/caller.js';
import { type Role, ROLES } from '../auth/route-access.js';

/** What a mode of operation changes (contract §4), asked here and nowhere else. Chosen once at start. */
export abstract class AccessPolicy {
  /** The caller's roles, in the order of ROLES. */
  abstract rolesOf(caller: Caller): readonly Role[];
  /** May the caller act in this role? */
  abstract mayAct(caller: Caller, role: Role): boolean;
  /** The claim sets among these whose entries the caller sees. */
  abstract visibleClaimSets(caller: Caller, claimSetIds: readonly number[]): ReadonlySet<number>;
}

/** spec §1.2: no authentication, every check is bypassed. */
export class AnonymousPolicy extends AccessPolicy {
  rolesOf(): readonly Role[] {
    return [];
  }

  mayAct(): boolean {
    return true;
  }

  visibleClaimSets(_caller: Caller, claimSetIds: readonly number[]): ReadonlySet<number> {
    return new Set(claimSetIds);
  }
}

/** spec §1.2: a valid token is all that is needed; whoever has one has every role. */
export class AuthOnlyPolicy extends AccessPolicy {
  rolesOf(caller: Caller): readonly Role[] {
    return caller.identified ? ROLES : [];
  }

  mayAct(caller: Caller): boolean {
    return caller.identified;
  }

  visibleClaimSets(_caller: Caller, claimSetIds: readonly number[]): ReadonlySet<number> {
    return new Set(claimSetIds);
  }
}
