import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Lease } from './lease.js';

const LEASE_MS = 15_000;
const EVERY_MS = 5_000;

describe('a lease', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const away = () => Promise.reject(new Error('The database is away'));
  const hanging = () => new Promise<boolean>(() => undefined);
  const held = () => Promise.resolve(true);
  const taken = () => Promise.resolve(false);

  it.each([
    ['is held as long as it is renewed', [held, held, held, held, held, held], null, false],
    ['is lost at once when somebody else has it', [held, taken, held], 10_000, true],
    ['survives a renewal that fails', [held, away, held, away, held], null, false],
    ['is lost when it could not be renewed before it ran out', [held, away, away, away], 20_000, false],
    ['is lost when a renewal does not come back', [held, hanging], 20_000, false],
  ])('%s', async (_name, answers, lostAfterMs, isTaken) => {
    const lease = new Lease(async () => (answers.shift() ?? held)(), LEASE_MS, EVERY_MS);
    let lostAt: number | null = null;
    const began = performance.now();
    lease.lost.addEventListener('abort', () => (lostAt = performance.now() - began));
    await vi.advanceTimersByTimeAsync(60_000);
    expect({ lostAt, isTaken: lease.isTaken }).toEqual({ lostAt: lostAfterMs, isTaken });
    lease.end();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is neither renewed nor lost any more once it has ended', async () => {
    const renewals: number[] = [];
    const lease = new Lease(
      async (ms) => {
        renewals.push(ms);
        return false;
      },
      LEASE_MS,
      EVERY_MS,
    );
    lease.end();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(renewals).toEqual([]);
    expect(lease.lost.aborted).toBe(false);
  });
});
