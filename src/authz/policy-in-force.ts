import type { Caller } from '../auth/caller.js';
import { AccessPolicy } from './access-policy.js';
import { StricterPolicy } from './stricter-policy.js';

type Of<Method extends keyof AccessPolicy> = AccessPolicy[Method] extends (...args: infer Args) => unknown
  ? Args
  : never;

/** The policy that decides now. A reload of the configuration replaces it (contract §1), for every request that comes after it. */
export class PolicyInForce extends AccessPolicy {
  private replacements = 0;

  constructor(private current: AccessPolicy) {
    super();
  }

  /** While the configuration changes, what both allow is allowed: nobody gets what neither the old nor the new one gives. */
  narrow(next: AccessPolicy): void {
    this.replace(new StricterPolicy(this.current, next));
  }

  replace(next: AccessPolicy): void {
    this.current = next;
    this.replacements += 1;
  }

  get inForce(): AccessPolicy {
    return this.current;
  }

  override get version(): number {
    return this.replacements;
  }

  rolesOf(...args: Of<'rolesOf'>) {
    return this.current.rolesOf(...args);
  }

  mayAct(...args: Of<'mayAct'>) {
    return this.current.mayAct(...args);
  }

  mayListRegistries(...args: Of<'mayListRegistries'>) {
    return this.current.mayListRegistries(...args);
  }

  mayReach(...args: Of<'mayReach'>) {
    return this.current.mayReach(...args);
  }

  mayRead(...args: Of<'mayRead'>) {
    return this.current.mayRead(...args);
  }

  keepsWithin(...args: Of<'keepsWithin'>) {
    return this.current.keepsWithin(...args);
  }

  maySee(...args: Of<'maySee'>) {
    return this.current.maySee(...args);
  }

  seesAll(...args: Of<'seesAll'>) {
    return this.current.seesAll(...args);
  }

  checkGrant(...args: Of<'checkGrant'>) {
    this.current.checkGrant(...args);
  }

  checkDelegation(...args: Of<'checkDelegation'>) {
    this.current.checkDelegation(...args);
  }

  mayManage(...args: Of<'mayManage'>) {
    return this.current.mayManage(...args);
  }

  checkPublish(...args: Of<'checkPublish'>) {
    this.current.checkPublish(...args);
  }

  checkRelabel(...args: Of<'checkRelabel'>) {
    this.current.checkRelabel(...args);
  }

  isBoundByNames(...args: Of<'isBoundByNames'>) {
    return this.current.isBoundByNames(...args);
  }

  inheritsClaims(...args: Of<'inheritsClaims'>) {
    return this.current.inheritsClaims(...args);
  }

  // What was judged by another policy is judged anew.
  visibilityKey(caller: Caller, isRequired: (key: string) => boolean): string {
    return `${this.replacements}|${this.current.visibilityKey(caller, isRequired)}`;
  }
}
