import { isObject } from '../../json/json-values.js';
import type { FetchState } from '../fetcher.js';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
/** How long entries may remain after the upstream removes them, unless the sync interval is longer. */
const ROUND_MS = 6 * 60 * MINUTE_MS;
const ROUND_RUNS = 20;
/** A run may start up to 10 % later than its interval. */
const MAX_DELAY_FACTOR = 1.1;
/** The longest expected upstream transaction. Each change is dated with the start of its transaction. */
const OVERLAP_MS = 5 * MINUTE_MS;
/** How often a run reads changes from OVERLAP_MS further back. */
const SETTLE_MS = 10 * MINUTE_MS;
/** Allows for the upstream's `Date` header, which is precise only to the second. */
const SLACK_MS = SECOND_MS;

/** State that a run of an API source stores for the next run. Times are Unix times in milliseconds. */
export interface ApiState {
  /** When the last run began, according to the upstream's clock. */
  readonly readAt: number;
  /** When the last run that also looked for late commits began, according to the upstream's clock. */
  readonly settledAt: number;
  /** When the last round began, according to our clock. A round begins with a full run. */
  readonly roundAt: number;
  /** Number of runs in this round so far. */
  readonly runs: number;
  /** Whether the upstream supports `updated_since`. */
  readonly tellsChanges: boolean;
  /** Digests of the lists of all types except server, by type. */
  readonly digests: Readonly<Record<string, string>>;
}

/** Whether a run reads everything or only the changes since a given time. */
export type ApiPlan =
  | { readonly reads: 'all'; readonly beginsRound: boolean }
  | { readonly reads: 'changes'; readonly since: number; readonly catchesUp: boolean };

/**
 * Decides whether a run reads everything or only changes. Only a full run notices removed entries. A run is full if it
 * is the first, the twentieth in its round, the last that fits into six hours, or requested.
 *
 * A change is dated with the start of its transaction, so it may be committed after a run has read past that time.
 * Every 10 minutes, a run therefore rereads changes from 5 minutes before the last such run. Doing this in every run
 * would reread a bulk load many times.
 */
export function planOf(
  state: ApiState | null,
  { now, intervalMs, isRequested }: { now: number; intervalMs: number; isRequested: boolean },
): ApiPlan {
  if (
    !state ||
    isRequested ||
    state.runs + 1 >= ROUND_RUNS ||
    now + MAX_DELAY_FACTOR * intervalMs - state.roundAt > ROUND_MS ||
    now < state.roundAt
  )
    return { reads: 'all', beginsRound: true };
  if (!state.tellsChanges) return { reads: 'all', beginsRound: false };
  const catchesUp = now - state.settledAt >= SETTLE_MS;
  const since = catchesUp ? state.settledAt - OVERLAP_MS : state.readAt - SLACK_MS;
  return { reads: 'changes', since, catchesUp };
}

/** Returns the state after a run that began at `readAt` on the upstream's clock and at `now` on ours. */
export function stateAfter(
  plan: ApiPlan,
  before: ApiState | null,
  {
    readAt,
    now,
    tellsChanges,
    digests,
  }: Pick<ApiState, 'readAt' | 'tellsChanges' | 'digests'> & { now: number },
): ApiState {
  const isRoundBegun = before !== null && (plan.reads === 'changes' || !plan.beginsRound);
  return {
    readAt,
    settledAt: before !== null && plan.reads === 'changes' && !plan.catchesUp ? before.settledAt : readAt,
    roundAt: isRoundBegun ? before.roundAt : now,
    runs: isRoundBegun ? before.runs + 1 : 0,
    tellsChanges,
    digests,
  };
}

/**
 * Returns the earliest time at which the upstream may have read a page: its `Date` minus the duration of the request,
 * or our send time if that is earlier. A time that is too early costs a few pages; one that is too late loses changes.
 *
 * @param date the `Date` header.
 */
export function pageTime(date: unknown, sentAt: number, receivedAt: number): number {
  const respondedAt = typeof date === 'string' ? Date.parse(date) : NaN;
  return Number.isNaN(respondedAt) ? sentAt : Math.min(sentAt, respondedAt - (receivedAt - sentAt));
}

/** Parses the state of the last run; null if it is missing or invalid. */
export function readApiState(state: FetchState | null): ApiState | null {
  if (!state) return null;
  const { readAt, settledAt, roundAt, runs, tellsChanges, digests } = state;
  const times = [readAt, settledAt, roundAt, runs];
  if (!times.every((time) => typeof time === 'number') || typeof tellsChanges !== 'boolean') return null;
  const isValid = isObject(digests) && Object.values(digests).every((digest) => typeof digest === 'string');
  return isValid ? (state as object as ApiState) : null;
}
