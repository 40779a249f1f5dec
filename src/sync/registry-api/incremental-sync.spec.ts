import { describe, expect, it } from 'vitest';
import { type ApiState, pageTime, planOf, readApiState, stateAfter } from './incremental-sync.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOW = Date.parse('2026-11-01T12:00:00Z');
const state = (more: Partial<ApiState> = {}): ApiState => ({
  readAt: NOW - MINUTE,
  settledAt: NOW - MINUTE,
  roundAt: NOW - MINUTE,
  runs: 1,
  tellsChanges: true,
  digests: {},
  ...more,
});
const changes = (since: number, catchesUp: boolean) => ({ reads: 'changes', since, catchesUp });

describe('the plan of a run', () => {
  it.each<[string, ApiState | null, object]>([
    ['first run', null, { reads: 'all', beginsRound: true }],
    ['soon after another run', state(), changes(NOW - MINUTE - 1_000, false)],
    ['just before ten minutes', state({ settledAt: NOW - 10 * MINUTE + 1 }), changes(NOW - 61_000, false)],
    ['after ten minutes', state({ settledAt: NOW - 10 * MINUTE }), changes(NOW - 15 * MINUTE, true)],
    ['nineteenth run', state({ runs: 18 }), changes(NOW - 61_000, false)],
    ['twentieth run', state({ runs: 19 }), { reads: 'all', beginsRound: true }],
    ['after our clock was set back', state({ roundAt: NOW + 1 }), { reads: 'all', beginsRound: true }],
    ['without support for changes', state({ tellsChanges: false }), { reads: 'all', beginsRound: false }],
  ])('%s', (_when, before, plan) =>
    expect(planOf(before, { now: NOW, intervalMs: MINUTE, isRequested: false })).toEqual(plan),
  );

  it('reads everything after a sync request, as a new round', () =>
    expect(planOf(state(), { now: NOW, intervalMs: MINUTE, isRequested: true })).toEqual({
      reads: 'all',
      beginsRound: true,
    }));

  // Every run has the maximum delay.
  it.each([
    ['a minute', MINUTE, 20],
    ['ten minutes', 10 * MINUTE, 20],
    ['a quarter of an hour', 15 * MINUTE, 20],
    ['half an hour', 30 * MINUTE, 10],
    ['an hour', HOUR, 5],
    ['two hours', 2 * HOUR, 2],
    ['five hours', 5 * HOUR, 1],
    ['six hours', 6 * HOUR, 1],
    ['a day', 24 * HOUR, 1],
  ])(
    'with an interval of %s, reads everything at least every six hours or twenty runs',
    (_interval, intervalMs, runs) => {
      let before = state({ roundAt: NOW, readAt: NOW, settledAt: NOW, runs: 0 });
      let count = 0;
      for (let now = NOW; ;) {
        now += 1.1 * intervalMs;
        count += 1;
        const plan = planOf(before, { now, intervalMs, isRequested: false });
        if (plan.reads === 'all') {
          if (runs > 1) expect(now - NOW).toBeLessThanOrEqual(6 * HOUR);
          break;
        }
        before = stateAfter(plan, before, { readAt: now, now, tellsChanges: true, digests: {} });
      }
      expect(count).toBe(runs);
    },
  );
});

describe('the state after a run', () => {
  const found = { readAt: NOW - 5, now: NOW, tellsChanges: true, digests: { skill: 'digest' } };
  const before = state({ settledAt: NOW - 9 * MINUTE, runs: 7 });

  it.each<[string, ApiState | null, Parameters<typeof stateAfter>[0], Partial<ApiState>]>([
    [
      'a new round',
      before,
      { reads: 'all', beginsRound: true },
      { roundAt: NOW, runs: 0, settledAt: NOW - 5 },
    ],
    [
      'the first run',
      null,
      { reads: 'all', beginsRound: true },
      { roundAt: NOW, runs: 0, settledAt: NOW - 5 },
    ],
    [
      'a full run within a round',
      before,
      { reads: 'all', beginsRound: false },
      { runs: 8, settledAt: NOW - 5 },
    ],
    ['changes', before, { reads: 'changes', since: 0, catchesUp: false }, { runs: 8 }],
    [
      'changes with late commits',
      before,
      { reads: 'changes', since: 0, catchesUp: true },
      { runs: 8, settledAt: NOW - 5 },
    ],
  ])('%s', (_what, kept, plan, expected) =>
    expect(stateAfter(plan, kept, found)).toEqual({
      ...before,
      readAt: NOW - 5,
      digests: { skill: 'digest' },
      ...expected,
    }),
  );

  it('is parsed from the database; an invalid state counts as none', () => {
    expect(readApiState({ ...before })).toEqual(before);
    for (const other of [
      null,
      {},
      { etag: 'x' },
      { ...before, runs: '7' },
      { ...before, tellsChanges: 1 },
      { ...before, digests: undefined },
    ])
      expect(readApiState(other)).toBeNull();
  });
});

describe('the time of a page', () => {
  const date = (time: number) => new Date(time).toUTCString();

  it.each<[string, unknown, number]>([
    ['no Date: the time of the request', undefined, NOW],
    ['an invalid Date', 'yesterday', NOW],
    ['the upstream clock is behind', date(NOW - HOUR), NOW - HOUR - 300],
    ['the upstream clock is ahead: our clock', date(NOW + HOUR), NOW],
    ['equal clocks: minus the duration of the request', date(NOW), NOW - 300],
  ])('%s', (_what, header, time) => expect(pageTime(header, NOW, NOW + 300)).toBe(time));
});
