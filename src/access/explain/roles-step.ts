import type { Caller, Role } from '../../auth/caller.js';
import type { AccessPolicy, Judgement } from '../../authz/access-policy.js';
import { explainMissing, type Step } from '../steps.js';

/**
 * The role that a route asks for. Of several maps that grant it the one that asks for the least more is told.
 *
 * @param knowsRules whether who asks may know the maps.
 */
export function rolesStep(policy: AccessPolicy, caller: Caller, role: Role, knowsRules: boolean): Step {
  let judgement: Judgement | undefined;
  const allowed = policy.mayAct(caller, role, (told) => (judgement = told));
  if (allowed) return { step: 'roles', outcome: 'passed', role };
  const step: Step = { step: 'roles', outcome: 'refused', role, code: 'role_required' };
  const [nearest] = (judgement?.rules ?? [])
    // contract §5: in a rule an array lists alternatives.
    .map((required) => ({ required, missing: explainMissing(caller.claims, required, 'any') }))
    .sort((one, other) => one.missing.length - other.missing.length);
  return knowsRules && nearest ? { ...step, ...nearest } : step;
}
