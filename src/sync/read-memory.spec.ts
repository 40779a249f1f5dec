import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { HeapGrowth, type MemoryShare, ReadMemory, ReadMemoryError, readMemoryFor } from './read-memory.js';

const never = () => new AbortController().signal;
/** Whether the promise has resolved, once pending callbacks have run. */
const isSettled = (promise: Promise<unknown>) =>
  Promise.race([promise.then(() => true), new Promise(setImmediate).then(() => false)]);

describe('ReadMemory', () => {
  it('ends a run that alone exceeds the limit', () => {
    const share = new ReadMemory(100).begin();
    for (let bytes = 0; bytes < 100; bytes += 10) share.add(10);
    expect(() => share.add(1)).toThrow(/the maximum/);
    expect([share.signal.aborted, share.mustWait]).toEqual([true, false]);
    expect(() => share.add(1)).toThrow(ReadMemoryError);
  });

  it.each([
    ['needs more', (oldest: MemoryShare) => oldest],
    ['does not', (_oldest: MemoryShare, youngest: MemoryShare) => youngest],
  ])('makes the youngest run wait when the oldest %s', async (_which, growing) => {
    const memory = new ReadMemory(100);
    const [oldest, youngest] = [memory.begin(), memory.begin()];
    oldest.add(40);
    youngest.add(30);
    if (growing(oldest, youngest) === oldest) oldest.add(20);
    else expect(() => youngest.add(20)).toThrow(ReadMemoryError);
    expect([oldest, youngest].map(({ mustWait }) => mustWait)).toEqual([false, true]);
    const resumed = memory.resume(youngest, never());
    expect(await isSettled(resumed)).toBe(false);
    oldest.end();
    (await resumed).add(100);
  });

  it('reserves what reading a file may need before it is read', async () => {
    const memory = new ReadMemory(100);
    const [one, other] = [memory.begin(), memory.begin()];
    one.reserveForFile(20);
    expect(() => other.reserveForFile(20)).toThrow(ReadMemoryError);
    expect(other.mustWait).toBe(true);
    const resumed = memory.resume(other, never());
    one.add(40);
    expect(await isSettled(resumed)).toBe(false);
    one.release(35);
    expect(await isSettled(resumed)).toBe(false);
    // It keeps 5 of 65 bytes while it writes.
    one.endRead();
    (await resumed).add(65);
  });

  it('serves waiting runs by age, not by arrival, and holds back younger runs', async () => {
    const memory = new ReadMemory(100);
    const [first, second, third, fourth] = Array.from({ length: 4 }, () => memory.begin()) as [
      MemoryShare,
      MemoryShare,
      MemoryShare,
      MemoryShare,
    ];
    first.add(90);
    expect(() => third.add(40)).toThrow(ReadMemoryError);
    expect(() => second.add(40)).toThrow(ReadMemoryError);
    const granted: string[] = [];
    const waiting = [
      memory.resume(third, never()).then((share) => (granted.push('third'), share)),
      memory.resume(second, never()).then((share) => (granted.push('second'), share)),
    ];
    first.release(89);
    first.endRead();
    expect(() => fourth.add(5)).toThrow(ReadMemoryError);
    fourth.end();
    first.end();
    (await waiting[1])?.end();
    await waiting[0];
    expect(granted).toEqual(['second', 'third']);
  });

  it('grants one run the whole limit, and several three quarters of it', () => {
    const memory = new ReadMemory(100);
    const [one, other] = [memory.begin(), memory.begin()];
    one.add(100);
    one.release(60);
    one.endRead();
    other.add(37);
    expect(() => other.add(1)).toThrow(ReadMemoryError);
    expect(other.mustWait).toBe(true);
  });

  it('lets each run use a hundredth of the limit without waiting', async () => {
    const memory = new ReadMemory(100);
    const [first, second, third] = [memory.begin(), memory.begin(), memory.begin()];
    first.add(100);
    expect(() => second.add(3)).toThrow(ReadMemoryError);
    const waiting = memory.resume(second, never());
    third.add(1);
    expect(third.mustWait).toBe(false);
    first.end();
    (await waiting).add(100);
  });

  it('does not interrupt a run that writes', () => {
    const memory = new ReadMemory(100);
    const [oldest, writing] = [memory.begin(), memory.begin()];
    writing.add(60);
    writing.endRead();
    expect(() => oldest.add(60)).toThrow(ReadMemoryError);
    expect([oldest.mustWait, writing.signal.aborted]).toEqual([true, false]);
  });

  it('stops waiting when its signal aborts', async () => {
    const memory = new ReadMemory(100);
    const [first, second, third] = [memory.begin(), memory.begin(), memory.begin()];
    first.add(60);
    for (const share of [second, third]) expect(() => share.add(50)).toThrow(ReadMemoryError);
    const stopping = new AbortController();
    const waits = memory.resume(second, stopping.signal);
    const next = memory.resume(third, never());
    stopping.abort(new Error('stopped'));
    await expect(waits).rejects.toThrow('stopped');
    await expect(memory.resume(second, stopping.signal)).rejects.toThrow('stopped');
    expect(await isSettled(next)).toBe(false);
    first.end();
    await next;
  });

  describe('after ten minutes', () => {
    beforeEach(() => void vi.useFakeTimers());
    afterEach(() => void vi.useRealTimers());

    it('ends the run that holds the most while others wait, and no other', async () => {
      const memory = new ReadMemory(100);
      const [small, large, waiting] = [memory.begin(), memory.begin(), memory.begin()];
      small.add(15);
      large.add(50);
      vi.advanceTimersByTime(11 * 60_000);
      expect(large.refusal).toBeUndefined();
      expect(() => waiting.add(25)).toThrow(ReadMemoryError);
      const resumed = memory.resume(waiting, never());
      vi.advanceTimersByTime(10_000);
      expect(large.refusal?.message).toMatch(/more than 10 minutes while other syncs waited/);
      expect([small.signal.aborted, large.mustWait]).toEqual([false, false]);
      large.end();
      await resumed;
      vi.advanceTimersByTime(60 * 60_000);
      expect(small.signal.aborted).toBe(false);
    });
  });

  it('completes any mix of runs that fit alone, within the limit', async () => {
    let total = 0;
    let most = 0;
    const memory = new ReadMemory(1_000, (bytes) => (most = Math.max(most, (total = bytes))));
    let seed = 1;
    const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
    const run = async () => {
      const [need, isFile] = [1 + random(1_000), random(2) === 0];
      for (let share = memory.begin(); ; share = await memory.resume(share, never())) {
        try {
          if (isFile) share.reserveForFile(Math.floor(need / 3.25));
          while (share.bytes < need) {
            share.add(Math.min(need - share.bytes, 1 + random(100)));
            await new Promise(setImmediate);
          }
          share.endRead();
          await new Promise(setImmediate);
          return share.end();
        } catch (error) {
          if (!share.mustWait) throw error;
        }
      }
    };
    await Promise.all(Array.from({ length: 200 }, run));
    expect(total).toBe(0);
    expect(most).toBeLessThanOrEqual(1_000 + 200 * 10);
  });

  it('is reported whenever it changes', () => {
    const reported: number[] = [];
    const memory = new ReadMemory(100, (bytes) => reported.push(bytes));
    const [one, other] = [memory.begin(), memory.begin()];
    one.add(30);
    other.add(20);
    one.release(10);
    one.endRead();
    one.end();
    one.end();
    other.end();
    expect(reported).toEqual([30, 50, 40, 20, 0]);
  });

  it('releases the memory of a run when it ends', () => {
    const memory = new ReadMemory(100);
    const first = memory.begin();
    first.add(90);
    first.end();
    first.end();
    const second = memory.begin();
    second.add(100);
    expect(() => second.add(1)).toThrow(ReadMemoryError);
  });
});

it.each([
  [1, 208],
  [64, 208],
  [128, 416],
  [512, 1_664],
])('with files of up to %d MiB, all runs hold at most %d MiB together', (file, all) => {
  expect(readMemoryFor(file)).toBe(all * 1024 * 1024);
});

const MIB = 1024 * 1024;

it('limits heap growth while runs hold more than 32 MiB, and sets the V8 flag only on changes', () => {
  const flags: number[] = [];
  const heap = new HeapGrowth((percent) => flags.push(percent));
  for (const held of [0, 10, 32, 33, 200, 40, 32, 0]) heap.fit(held * MIB);
  expect(flags).toEqual([50, 20, 50]);
});
