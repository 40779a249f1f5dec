import type { Caller } from '../../auth/caller.js';
import type { AccessPolicy } from '../../authz/access-policy.js';
import type { AuditScope } from '../audit-event.js';

/** contract §9: super-admins see all events. */
export function knowsAllEvents(policy: AccessPolicy, caller: Caller): boolean {
  return policy.seesAll(caller);
}

/** contract §9: managers see the events whose target they reach, by the claims that it had at the time, in the role that they have. */
export function mayKnow(policy: AccessPolicy, caller: Caller, { role, claims }: AuditScope): boolean {
  return (
    policy.mayAct(caller, role) &&
    claims.every((one) =>
      role === 'manageEntries' ? policy.mayManage(caller, one) : policy.mayReach(caller, one),
    )
  );
}
