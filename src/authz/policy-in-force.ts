import { Logger } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import type { Caller } from '../auth/caller.js';
import type { Role } from '../auth/route.js';
import { type AuthConfig, type AuthzConfig, oauthInUse } from '../config/config.js';
import { authorizationConfig } from '../config/slices.js';
import { AccessPolicy, AnonymousPolicy, AuthOnlyPolicy, FullPolicy } from './access-policy.js';

/** The methods of `AccessPolicy` that return this type. */
type Deciding<Result> = {
  [D in keyof AccessPolicy]: AccessPolicy[D] extends (...args: never[]) => infer R
    ? [R, Result] extends [Result, R]
      ? D
      : never
    : never;
}[keyof AccessPolicy];

/** One policy, or several that must all agree. */
export type Policies = readonly [AccessPolicy, ...AccessPolicy[]];

/**
 * Applies the current policies to every request. A configuration reload replaces them (reference/commands). Until the reload
 * completes, both the old and the new policies apply, and all of them must grant access.
 */
export class PolicyInForce extends AccessPolicy {
  readonly mayAct = this.all('mayAct');
  readonly mayListRegistries = this.all('mayListRegistries');
  readonly mayReach = this.all('mayReach');
  readonly mayRead = this.all('mayRead');
  readonly keepsWithin = this.all('keepsWithin');
  readonly maySee = this.all('maySee');
  readonly seesAll = this.all('seesAll');
  readonly mayManage = this.all('mayManage');
  readonly inheritsClaims = this.all('inheritsClaims');
  readonly checkGrant = this.each('checkGrant');
  readonly checkDelegation = this.each('checkDelegation');
  readonly checkPublish = this.each('checkPublish');
  readonly checkRelabel = this.each('checkRelabel');

  private policies: Policies;
  private replacements = 0;

  constructor(...policies: Policies) {
    super();
    this.policies = policies;
  }

  override get version(): number {
    return this.replacements;
  }

  /** Enforces these policies in addition to the current ones. */
  narrow(added: Policies): void {
    this.replace([...this.policies, ...added]);
  }

  replace(next: Policies): void {
    this.policies = next;
    this.replacements += 1;
  }

  rolesOf(caller: Caller): readonly Role[] {
    return this.policies
      .map((policy) => policy.rolesOf(caller))
      .reduce((common, roles) => common.filter((role) => roles.includes(role)));
  }

  isBoundByNames(caller: Caller): boolean {
    return this.policies.some((policy) => policy.isBoundByNames(caller));
  }

  // The key must differ from all keys computed under earlier policies.
  visibilityKey(caller: Caller, isRequired: (key: string) => boolean): string {
    const keys = this.policies.map((policy) => policy.visibilityKey(caller, isRequired));
    return JSON.stringify([this.replacements, ...keys]);
  }

  private all<D extends Deciding<boolean>>(decision: D) {
    // Called for thousands of claim sets per view; a loop is faster than `every` with a closure.
    return (...args: Parameters<AccessPolicy[D]>): boolean => {
      for (const policy of this.policies) if (!Reflect.apply(policy[decision], policy, args)) return false;
      return true;
    };
  }

  private each<D extends Deciding<void>>(decision: D) {
    return (...args: Parameters<AccessPolicy[D]>): void => {
      for (const policy of this.policies) Reflect.apply(policy[decision], policy, args);
    };
  }
}

/** The authorization as shown in the audit trail: the mode (reference/access) and, in full mode, its rules. */
export type AuthorizationForm =
  | { readonly mode: 'anonymous' | 'auth-only' }
  | ({ readonly mode: 'full' } & Pick<AuthzConfig, 'roles' | 'policy'>);

export function authorizationForm(auth: Pick<AuthConfig, 'mode' | 'oauth' | 'authz'>): AuthorizationForm {
  if (!oauthInUse(auth)) return { mode: 'anonymous' };
  return auth.authz
    ? { mode: 'full', roles: auth.authz.roles, policy: auth.authz.policy }
    : { mode: 'auth-only' };
}

/** The policy of the configured mode (reference/access). */
export function policyFor(auth: Pick<AuthConfig, 'mode' | 'oauth' | 'authz'>): AccessPolicy {
  const oauth = oauthInUse(auth);
  if (!oauth) return new AnonymousPolicy();
  return auth.authz ? new FullPolicy(auth.authz, oauth.providers) : new AuthOnlyPolicy();
}

/** Logs the warning required by reference/access. */
export function warnIfAuthOnly(auth: ConfigType<typeof authorizationConfig>): void {
  if (authorizationForm(auth).mode === 'auth-only')
    new Logger('authz').warn(
      'Authorization not configured, per-entry claims filtering disabled (auth-only mode)',
    );
}
