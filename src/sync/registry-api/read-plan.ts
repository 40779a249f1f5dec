import { isObject } from '../../json/json-values.js';
import type { FetchState } from '../fetcher.js';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
/** How long what the upstream no longer shows may be shown here, as long as runs are due more often. */
const ROUND_MS = 6 * 60 * MINUTE_MS;
const ROUND_RUNS = 20;
/** A source is due at its interval or up to a tenth later. */
const LATE = 1.1;
/** How long a transaction of the upstream may take: what it writes bears the time when it began. */
const OVERLAP_MS = 5 * MINUTE_MS;
/** How often that is allowed for. */
const SETTLE_MS = 10 * MINUTE_MS;
/** What the whole seconds of the upstream's `Date` may hide. */
const SLACK_MS = SECOND_MS;

/** What a run of an api source leaves for the next one. Times are milliseconds since 1970. */
export interface ApiState {
  /** When the last run began, by the clock of the upstream. */
  readonly readAt: number;
  /** The same of the last run that has also looked for what was written late. */
  readonly settledAt: number;
  /** When the last round began, by our own clock; a round begins with everything being read. */
  readonly roundAt: number;
  /** Runs since then. */
  readonly runs: number;
  /** Whether the upstream can be asked for changes alone. */
  readonly tellsChanges: boolean;
  /** Of each type that is shown bare and that the upstream has: a digest of its list. */
  readonly digests: Readonly<Record<string, string>>;
}

/** What a run reads: everything, or what has changed since a time. */
export type ApiPlan =
  | { readonly reads: 'all'; readonly beginsRound: boolean }
  | { readonly reads: 'changes'; readonly since: number; readonly catchesUp: boolean };

/**
 * Everything is read in the first run, then in every twentieth, in the last one that is due within six hours, and when somebody
 * asks for a sync, because only that shows what is no longer there, or no longer for us; in between, what has changed.
 *
 * A change is found by the time it bears, which is when its transaction began, and may become visible only after a run that
 * has passed that time. So a run goes back to 5 minutes before the run whose look back was the last. Going back that far
 * each time would make runs in quick succession read the same again and again, a bulk load in full: they do it every 10
 * minutes and otherwise ask for what is newer than the run before.
 */
export function planOf(
  state: ApiState | null,
  { now, intervalMs, isRequested }: { now: number; intervalMs: number; isRequested: boolean },
): ApiPlan {
  if (
    !state ||
    isRequested ||
    state.runs + 1 >= ROUND_RUNS ||
    now + LATE * intervalMs - state.roundAt > ROUND_MS ||
    now < state.roundAt
  )
    return { reads: 'all', beginsRound: true };
  if (!state.tellsChanges) return { reads: 'all', beginsRound: false };
  const catchesUp = now - state.settledAt >= SETTLE_MS;
  const since = catchesUp ? state.settledAt - OVERLAP_MS : state.readAt - SLACK_MS;
  return { reads: 'changes', since, catchesUp };
}

/** The state after a run that began at `readAt` by the upstream's clock and at `now` by ours. */
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
 * When a page was put together, by the upstream's clock, and not later than that: the `Date` of its answer less the time it
 * took. The earlier one counts of that and our own clock, since an early time costs a few more pages and a late one changes.
 */
export function pageTime(date: unknown, sentAt: number, answeredAt: number): number {
  const told = typeof date === 'string' ? Date.parse(date) : NaN;
  return Number.isNaN(told) ? sentAt : Math.min(sentAt, told - (answeredAt - sentAt));
}

/** The state that a run has left, or null when there is none that can be used. */
export function readApiState(state: FetchState | null): ApiState | null {
  if (!state) return null;
  const { readAt, settledAt, roundAt, runs, tellsChanges, digests } = state;
  const times = [readAt, settledAt, roundAt, runs];
  if (!times.every((time) => typeof time === 'number') || typeof tellsChanges !== 'boolean') return null;
  const isKnown = isObject(digests) && Object.values(digests).every((digest) => typeof digest === 'string');
  return isKnown ? (state as object as ApiState) : null;
}
