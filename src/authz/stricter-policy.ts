import type { Caller } from '../auth/caller.js';
import type { Role } from '../auth/route.js';
import { AccessPolicy } from './access-policy.js';

type Of<Method extends keyof AccessPolicy> = AccessPolicy[Method] extends (...args: infer Args) => unknown
  ? Args
  : never;

/** Allows what both policies allow. */
export class StricterPolicy extends AccessPolicy {
  constructor(
    private readonly one: AccessPolicy,
    private readonly other: AccessPolicy,
  ) {
    super();
  }

  rolesOf(caller: Caller): readonly Role[] {
    const others = this.other.rolesOf(caller);
    return this.one.rolesOf(caller).filter((role) => others.includes(role));
  }

  mayAct(...args: Of<'mayAct'>) {
    return this.one.mayAct(...args) && this.other.mayAct(...args);
  }

  mayListRegistries(...args: Of<'mayListRegistries'>) {
    return this.one.mayListRegistries(...args) && this.other.mayListRegistries(...args);
  }

  mayReach(...args: Of<'mayReach'>) {
    return this.one.mayReach(...args) && this.other.mayReach(...args);
  }

  mayRead(...args: Of<'mayRead'>) {
    return this.one.mayRead(...args) && this.other.mayRead(...args);
  }

  keepsWithin(...args: Of<'keepsWithin'>) {
    return this.one.keepsWithin(...args) && this.other.keepsWithin(...args);
  }

  maySee(...args: Of<'maySee'>) {
    return this.one.maySee(...args) && this.other.maySee(...args);
  }

  seesAll(...args: Of<'seesAll'>) {
    return this.one.seesAll(...args) && this.other.seesAll(...args);
  }

  checkGrant(...args: Of<'checkGrant'>) {
    this.one.checkGrant(...args);
    this.other.checkGrant(...args);
  }

  checkDelegation(...args: Of<'checkDelegation'>) {
    this.one.checkDelegation(...args);
    this.other.checkDelegation(...args);
  }

  mayManage(...args: Of<'mayManage'>) {
    return this.one.mayManage(...args) && this.other.mayManage(...args);
  }

  checkPublish(...args: Of<'checkPublish'>) {
    this.one.checkPublish(...args);
    this.other.checkPublish(...args);
  }

  checkRelabel(...args: Of<'checkRelabel'>) {
    this.one.checkRelabel(...args);
    this.other.checkRelabel(...args);
  }

  isBoundByNames(...args: Of<'isBoundByNames'>) {
    return this.one.isBoundByNames(...args) || this.other.isBoundByNames(...args);
  }

  inheritsClaims(...args: Of<'inheritsClaims'>) {
    return this.one.inheritsClaims(...args) && this.other.inheritsClaims(...args);
  }

  visibilityKey(...args: Of<'visibilityKey'>) {
    return JSON.stringify([this.one.visibilityKey(...args), this.other.visibilityKey(...args)]);
  }
}
