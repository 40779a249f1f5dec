import type { AuthConfig } from '../config/config.js';
import { oauthInUse } from '../config/oauth-in-use.js';
import { AccessPolicy, AnonymousPolicy, AuthOnlyPolicy, FullPolicy } from './access-policy.js';

/** The policy of a configuration: the one place where the mode of operation is looked at (contract §4). */
export function policyFor(auth: AuthConfig): AccessPolicy {
  if (!oauthInUse(auth)) return new AnonymousPolicy();
  return auth.authz ? new FullPolicy(auth.authz) : new AuthOnlyPolicy();
}
