import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LeaseRenewal } from './lease-renewal.js';

const LEASE_MS = 15_000;
const EVERY_MS = 5_000;
const ID = 1;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('a lease', () => {
  const unreachable = () => Promise.reject(new Error('PostgreSQL is not reachable'));
  const hanging = () => new Promise<number[]>(() => undefined);
  const held = () => Promise.resolve([ID]);
  const taken = () => Promise.resolve([]);

  it.each([
    ['is held while it is renewed', [held, held, held, held, held, held], null, null],
    ['aborts `taken` at the first renewal that does not return its id', [held, taken, held], 10_000, null],
    ['survives a failed renewal', [held, unreachable, held, unreachable, held], null, null],
    [
      'aborts `expired` when not renewed in time',
      [held, unreachable, unreachable, unreachable],
      null,
      20_000,
    ],
    ['aborts `expired` when a renewal hangs', [held, hanging], null, 20_000],
    [
      'can abort `taken` after `expired`',
      [held, unreachable, unreachable, unreachable, taken],
      25_000,
      20_000,
    ],
  ])('%s', async (_name, answers, takenAfterMs, expiredAfterMs) => {
    const renewal = new LeaseRenewal(async () => (answers.shift() ?? held)(), LEASE_MS, EVERY_MS);
    let takenAt: number | null = null;
    let expiredAt: number | null = null;
    const began = performance.now();
    const lease = renewal.hold(ID);
    lease.taken.addEventListener('abort', () => (takenAt = performance.now() - began));
    lease.expired.addEventListener('abort', () => (expiredAt = performance.now() - began));
    await vi.advanceTimersByTimeAsync(60_000);
    expect({ takenAt, expiredAt }).toEqual({ takenAt: takenAfterMs, expiredAt: expiredAfterMs });
    renewal.end();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is neither renewed nor aborted after `end`', async () => {
    const renewals: number[] = [];
    const renewal = new LeaseRenewal(
      async (ms) => {
        renewals.push(ms);
        return [];
      },
      LEASE_MS,
      EVERY_MS,
    );
    const lease = renewal.hold(ID);
    renewal.end();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(renewals).toEqual([]);
    expect([lease.taken.aborted, lease.expired.aborted]).toEqual([false, false]);
  });
});

describe('the leases of one owner', () => {
  it('are renewed together and aborted separately', async () => {
    const answers = [[1, 2], [2], [2]];
    let renewals = 0;
    const renewal = new LeaseRenewal(async () => answers[renewals++] ?? [2], LEASE_MS, EVERY_MS);
    const [first, second] = [renewal.hold(1), renewal.hold(2)];
    await vi.advanceTimersByTimeAsync(3 * EVERY_MS);
    expect(renewals).toBe(3);
    expect([first.taken.aborted, second.taken.aborted]).toEqual([true, false]);
    renewal.end();
  });

  it('are renewed only while at least one is held', async () => {
    let renewals = 0;
    const renewal = new LeaseRenewal(
      async () => {
        renewals += 1;
        return [];
      },
      LEASE_MS,
      EVERY_MS,
    );
    await vi.advanceTimersByTimeAsync(60_000);
    expect(renewals).toBe(0);
    renewal.hold(ID);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(renewals).toBe(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('are not aborted by the result of a renewal that started before them', async () => {
    let answer: (ids: number[]) => void = () => undefined;
    const renewal = new LeaseRenewal(() => new Promise((resolve) => (answer = resolve)), LEASE_MS, EVERY_MS);
    const first = renewal.hold(1);
    await vi.advanceTimersByTimeAsync(EVERY_MS);
    const [again, second] = [renewal.hold(1), renewal.hold(2)];
    answer([]);
    await vi.advanceTimersByTimeAsync(0);
    expect([first, again, second].map(({ taken }) => taken.aborted)).toEqual([false, false, false]);
    renewal.end();
  });
});
