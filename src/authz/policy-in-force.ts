import { Logger } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import type { Caller } from '../auth/caller.js';
import type { Role } from '../auth/route.js';
import { type AuthConfig, type AuthzConfig, oauthInUse } from '../config/config.js';
import { authorizationConfig } from '../config/slices.js';
import { AccessPolicy, AnonymousPolicy, AuthOnlyPolicy, FullPolicy } from './access-policy.js';

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

/** What decides who may do what, as it is shown in the audit trail: the mode (contract §4), and the rules where there are any. */
export type AuthorizationForm =
  | { readonly mode: 'anonymous' | 'auth-only' }
  | ({ readonly mode: 'full' } & Pick<AuthzConfig, 'roles' | 'policy'>);

export function authorizationForm(auth: Pick<AuthConfig, 'mode' | 'oauth' | 'authz'>): AuthorizationForm {
  if (!oauthInUse(auth)) return { mode: 'anonymous' };
  return auth.authz
    ? { mode: 'full', roles: auth.authz.roles, policy: auth.authz.policy }
    : { mode: 'auth-only' };
}

/** contract §4: the policy of a mode. */
export function policyFor(auth: Pick<AuthConfig, 'mode' | 'oauth' | 'authz'>): AccessPolicy {
  if (!oauthInUse(auth)) return new AnonymousPolicy();
  return auth.authz ? new FullPolicy(auth.authz) : new AuthOnlyPolicy();
}

/** spec §1.2 prescribes the text. */
export function warnIfAuthOnly(auth: ConfigType<typeof authorizationConfig>): void {
  if (authorizationForm(auth).mode === 'auth-only')
    new Logger('authz').warn(
      'Authorization not configured, per-entry claims filtering disabled (auth-only mode)',
    );
}
