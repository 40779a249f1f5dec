import type { Caller, Role } from '../auth/caller.js';
import type { AccessPolicy, Judgement } from '../authz/access-policy.js';
import { type Claims, findMissing } from '../claims/claims.js';
import { type ApiError, ERRORS } from '../http/errors.js';
import type { ExplainedAnswer, ExplainedMissingClaim, ExplainedStep } from './explain.dto.js';
import type { Conclusion, StepName } from './outcomes.js';

/** Maximum number of missing values per step; higher than the limit of `leastMissing`. */
const MAX_MISSING = 100;
/** Maximum number of characters shown for a held value. */
const MAX_HELD_TEXT = 100;

export type ExplainedMissing = Readonly<ExplainedMissingClaim>;
/** One check of a request and its outcome (reference/explain). */
export type Step = Readonly<ExplainedStep>;
/** Status and error code of the response to the explained request. */
export type StatusAnswer = Readonly<ExplainedAnswer>;

export const SHOWN: StatusAnswer = { status: 200 };
export const UNKNOWN_ENTRY: Step = { step: 'entry', outcome: 'unknown_to_you' };
export const ABSENT_ENTRY: Step = { step: 'entry', outcome: 'absent', code: 'entry_not_found' };

export function answerOf({ status, code }: ApiError): StatusAnswer {
  return { status, code };
}

/** Returns the response to a request that is checked in the order of these steps; undefined if all steps pass. */
export function firstRefusal(steps: readonly Step[]): StatusAnswer | undefined {
  const code = steps.find((step) => step.outcome !== 'passed' && step.code !== undefined)?.code;
  return code && { status: ERRORS[code].status, code };
}

/** Returns the step for a check, with the required and missing claims. */
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
 * Returns the missing values, truncated to a readable length; `because` has the policy for arrays of several values.
 */
function explainMissing(
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

/** reference/explain: a 404 means `hidden` if access to an existing resource was refused, else `absent`. */
export function decisionOf({ status }: StatusAnswer, steps: readonly Step[]): Conclusion {
  if (status < 300) return 'shown';
  if (status !== 404) return 'refused';
  return steps.some(({ outcome }) => outcome === 'refused') ? 'hidden' : 'absent';
}

/**
 * Returns the step for a role that a route requires. If several rules can grant the role, reports the rule with the
 * fewest missing values.
 *
 * @param knowsRules whether the asker may know the rules.
 */
export function rolesStep(policy: AccessPolicy, caller: Caller, role: Role, knowsRules: boolean): Step {
  let judgement: Judgement | undefined;
  const allowed = policy.mayAct(caller, role, (recorded) => (judgement = recorded));
  if (allowed) return { step: 'roles', outcome: 'passed', role };
  if (caller.assumedBy && !knowsRules)
    return { step: 'roles', outcome: 'unknown_to_you', role, code: 'role_required' };
  const step: Step = { step: 'roles', outcome: 'refused', role, code: 'role_required' };
  const [nearest] = (judgement?.rules ?? [])
    // reference/access: in a rule, an array lists alternatives.
    .map((required) => ({ required, missing: explainMissing(caller.claims, required, 'any') }))
    .sort((one, other) => one.missing.length - other.missing.length);
  return knowsRules && nearest ? { ...step, ...nearest } : step;
}

/** A source that may have the entry. */
interface Candidate {
  readonly name: string;
  readonly entry: { readonly claims: Claims } | null;
}

export interface JudgedSource<Source extends Candidate = Candidate> {
  readonly source: Source;
  /** Undefined if the source does not have the entry. */
  readonly judgement: Judgement | undefined;
}

/** Decides whether a caller of the consumer API may see the entries of these sources. */
export function judgeSources<Source extends Candidate>(
  policy: AccessPolicy,
  caller: Caller,
  sources: readonly Source[],
): JudgedSource<Source>[] {
  return sources.map((source) => {
    let judgement: Judgement | undefined;
    if (source.entry) policy.maySee(caller, source.entry.claims, (recorded) => (judgement = recorded));
    return { source, judgement };
  });
}

export interface EntryRead {
  readonly answer: StatusAnswer;
  /** The source whose entry shadows all others; undefined if no entry is visible. */
  readonly source?: string | undefined;
  /** The status of the version; undefined if the entry has no such version. */
  readonly status?: string | undefined;
}

export const NO_VISIBLE_ENTRY: EntryRead = { answer: { status: 404, code: 'entry_not_found' } };

/** Returns the steps for each source, in registry order. */
export function entrySteps(
  sources: readonly JudgedSource[],
  held: Readonly<Record<string, unknown>>,
  read: EntryRead,
): Step[] {
  const isShared = sources.filter(({ judgement }) => judgement).length > 1;
  return sources.flatMap(({ source: { name: source }, judgement }): Step[] => {
    if (!judgement) return [{ step: 'source', outcome: 'absent', source }];
    const refused = judgement.allowed ? {} : ({ code: 'entry_not_found' } as const);
    const steps: Step[] = [
      { step: 'source', outcome: 'passed', source },
      judgedStep('entry', judgement, held, { source, ...refused }),
    ];
    if (source === read.source) {
      if (isShared) steps.push({ step: 'shadowing', outcome: 'passed', source });
      steps.push(versionStep(read, source));
    } else if (read.source !== undefined && judgement.allowed)
      steps.push({ step: 'shadowing', outcome: 'refused', source, shadowedBy: read.source });
    return steps;
  });
}

function versionStep({ answer: { code }, status }: EntryRead, source: string): Step {
  if (code === undefined) return { step: 'version', outcome: 'passed', source };
  return status === undefined
    ? { step: 'version', outcome: 'absent', code, source }
    : { step: 'version', outcome: 'refused', code, source, because: `status: ${status}` };
}
