import { type AuthConfig, type AuthzConfig, oauthInUse } from '../config/config.js';
import { type AccessPolicy, AnonymousPolicy, AuthOnlyPolicy, FullPolicy } from './access-policy.js';

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
