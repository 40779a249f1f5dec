import type { Caller, Role } from '../auth/caller.js';
import type { AccessPolicy, Judgement } from '../authz/access-policy.js';
import { type Claims, findMissing, type MissingClaim } from '../claims/claims.js';
import { type ApiError, ERROR_CATALOGUE, type ErrorCode } from '../http/errors.js';

export const STEPS = [
  'token',
  'roles',
  'read_only',
  'registry',
  'gate',
  'source',
  'entry',
  'shadowing',
  'version',
  'name',
  'claims',
  'origin',
] as const;
export type StepName = (typeof STEPS)[number];

/** `skipped`: not asked in this mode. `unknown_to_you`: not for who asks to know. */
export const OUTCOMES = ['passed', 'refused', 'absent', 'skipped', 'unknown_to_you'] as const;
export type Outcome = (typeof OUTCOMES)[number];

export const DECISIONS = ['shown', 'hidden', 'refused', 'absent'] as const;
export type Decision = (typeof DECISIONS)[number];

/** Missing values that one step tells: more than are looked at together, see `leastMissing`. */
const MAX_MISSING = 100;
/** Characters of each value that is held. */
const MAX_HELD_TEXT = 100;

/** A value that is missing, and which policy asks for it. */
export interface ExplainedMissing extends MissingClaim {
  readonly because?: string;
}

/** One step of a request and how it came out (contract §10). */
export interface Step {
  readonly step: StepName;
  readonly outcome: Outcome;
  /** The code this step alone would be refused with. */
  readonly code?: ErrorCode;
  readonly role?: Role;
  readonly required?: Claims;
  readonly missing?: readonly ExplainedMissing[];
  readonly because?: string;
  readonly source?: string;
  /** Of a step `shadowing`: the source whose entry is shown in its place. */
  readonly shadowedBy?: string;
}

/** What the explained request is answered. */
export interface Answer {
  readonly status: number;
  readonly code?: ErrorCode;
}

export const SHOWN: Answer = { status: 200 };

export function answerOf({ status, code }: ApiError): Answer {
  return { status, code };
}

/** The answer of a request that passes these steps in turn: the first one that refuses decides. */
export function firstRefusal(steps: readonly Step[]): Answer | undefined {
  const code = steps.find((step) => step.outcome !== 'passed' && step.code !== undefined)?.code;
  return code && { status: ERROR_CATALOGUE[code].status, code };
}

/** How a check came out, with what was asked for and what is missing. */
export function judgedStep(
  step: StepName,
  { allowed, required, arrays, because }: Judgement,
  held: Readonly<Record<string, unknown>>,
  more: Partial<Step> = {},
): Step {
  const missing = allowed || !required || !arrays ? [] : explainMissing(held, required, arrays);
  return {
    step,
    outcome: allowed ? 'passed' : 'refused',
    ...more,
    ...(required ? { required } : {}),
    ...(missing.length > 0 ? { missing } : {}),
    ...(because ? { because } : {}),
  };
}

/**
 * What is missing of required claims, as far as anybody would read it; `because` says how an array of several values is read. What is
 * held may be as long as a token, and stands beside each missing value.
 */
export function explainMissing(
  held: Readonly<Record<string, unknown>>,
  required: Claims,
  arrays: 'all' | 'any',
): ExplainedMissing[] {
  return findMissing(held, required, arrays)
    .slice(0, MAX_MISSING)
    .map((missing) => {
      const isList = [required[missing.key] ?? []].flat().length > 1;
      return {
        ...missing,
        held: missing.held.map(shortened),
        ...(isList ? { because: `arrayValues: ${arrays}` } : {}),
      };
    });
}

function shortened(text: string): string {
  return text.length > MAX_HELD_TEXT ? `${text.slice(0, MAX_HELD_TEXT)}…` : text;
}

/** contract §10: what became of the request. What is refused by 404 is hidden where something that is there was refused. */
export function decisionOf({ status }: Answer, steps: readonly Step[]): Decision {
  if (status < 300) return 'shown';
  if (status !== 404) return 'refused';
  return steps.some(({ outcome }) => outcome === 'refused') ? 'hidden' : 'absent';
}

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
