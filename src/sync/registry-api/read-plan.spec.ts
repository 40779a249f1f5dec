import { describe, expect, it } from 'vitest';
import { type ApiState, pageTime, planOf, readApiState, stateAfter } from './read-plan.js';

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

describe('what a run reads', () => {
  it.each<[string, ApiState | null, object]>([
    ['the first one', null, { reads: 'all', beginsRound: true }],
    ['soon after another one', state(), changes(NOW - MINUTE - 1_000, false)],
    ['just before ten minutes', state({ settledAt: NOW - 10 * MINUTE + 1 }), changes(NOW - 61_000, false)],
    ['after ten minutes', state({ settledAt: NOW - 10 * MINUTE }), changes(NOW - 15 * MINUTE, true)],
    ['the nineteenth', state({ runs: 18 }), changes(NOW - 61_000, false)],
    ['the twentieth', state({ runs: 19 }), { reads: 'all', beginsRound: true }],
    ['when our clock went back', state({ roundAt: NOW + 1 }), { reads: 'all', beginsRound: true }],
    ['when changes are not told', state({ tellsChanges: false }), { reads: 'all', beginsRound: false }],
  ])('%s', (_when, before, plan) =>
    expect(planOf(before, { now: NOW, intervalMs: MINUTE, isRequested: false })).toEqual(plan),
  );

  it('when somebody asks for a sync, which is a new round', () =>
    expect(planOf(state(), { now: NOW, intervalMs: MINUTE, isRequested: true })).toEqual({
      reads: 'all',
      beginsRound: true,
    }));

  // Every run is as late as it may be.
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
    'at an interval of %s: everything again within six hours and twenty runs, or each time',
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

describe('what a run leaves', () => {
  const found = { readAt: NOW - 5, now: NOW, tellsChanges: true, digests: { skill: 'digest' } };
  const before = state({ settledAt: NOW - 9 * MINUTE, runs: 7 });

  it.each<[string, ApiState | null, Parameters<typeof stateAfter>[0], Partial<ApiState>]>([
    [
      'a new round',
      before,
      { reads: 'all', beginsRound: true },
      { roundAt: NOW, runs: 0, settledAt: NOW - 5 },
    ],
    ['a first one', null, { reads: 'all', beginsRound: true }, { roundAt: NOW, runs: 0, settledAt: NOW - 5 }],
    [
      'everything within a round',
      before,
      { reads: 'all', beginsRound: false },
      { runs: 8, settledAt: NOW - 5 },
    ],
    ['changes', before, { reads: 'changes', since: 0, catchesUp: false }, { runs: 8 }],
    [
      'changes and late ones',
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

  it('is read back from the database, and anything else is as if there had been no run', () => {
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

describe('when a page was put together', () => {
  const date = (time: number) => new Date(time).toUTCString();

  it.each<[string, unknown, number]>([
    ['no Date: when it was asked for', undefined, NOW],
    ['a Date that is none', 'yesterday', NOW],
    ['their clock is behind', date(NOW - HOUR), NOW - HOUR - 300],
    ['their clock is ahead: ours counts', date(NOW + HOUR), NOW],
    ['both agree: less the time it took', date(NOW), NOW - 300],
  ])('%s', (_what, header, time) => expect(pageTime(header, NOW, NOW + 300)).toBe(time));
});
