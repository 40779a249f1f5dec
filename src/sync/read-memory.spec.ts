import { describe, expect, it } from 'vitest';
import { ReadMemory, ReadMemoryError, readMemoryFor } from './read-memory.js';

const MIB = 1024 * 1024;
const OWNER = 'alice';
const never = () => new AbortController().signal;
/** Whether the promise has resolved, once pending callbacks have run. */
const isSettled = (promise: Promise<unknown>) =>
  Promise.race([promise.then(() => true), new Promise(setImmediate).then(() => false)]);

describe('ReadMemory', () => {
  it('ends a run that exceeds the limit', () => {
    const share = new ReadMemory(100 * MIB).begin();
    share.add(100 * MIB);
    expect(() => share.add(1)).toThrow(/more than 100 MiB of memory, the maximum/);
    expect(share.mustWait).toBe(false);
    share.release(50 * MIB);
    expect(() => share.add(1)).toThrow(ReadMemoryError);
  });

  it.each([
    ['read', (memory: ReadMemory) => memory.begin().add(2 * MIB + 1)],
    ['announce', (memory: ReadMemory) => memory.begin().reserveForFile(MIB)],
  ])('has one place for runs that %s more than 2 MiB, and room for small ones', async (_, enlarge) => {
    const memory = new ReadMemory();
    const [large, other, small] = [memory.begin(), memory.begin(), memory.begin()];
    large.add(2 * MIB);
    large.add(1);
    expect(() => enlarge(memory)).toThrow(ReadMemoryError);
    expect(() => other.add(3 * MIB)).toThrow(ReadMemoryError);
    expect(other.mustWait).toBe(true);
    const waits = memory.waitForPlace(OWNER, never());
    small.add(2 * MIB);
    expect(await isSettled(waits)).toBe(false);
    large.end();
    large.end();
    const again = await waits;
    again.add(200 * MIB);
    expect(() => enlarge(memory)).toThrow(ReadMemoryError);
    again.end();
    memory.begin().add(3 * MIB);
  });

  it('gives the place to owners in turn', async () => {
    const memory = new ReadMemory();
    const first = memory.begin();
    first.add(3 * MIB);
    const order: string[] = [];
    const waiting = ['alice', 'alice', 'bob'].map(async (owner) => {
      const share = await memory.waitForPlace(owner, never());
      order.push(owner);
      share.end();
    });
    first.end();
    await Promise.all(waiting);
    expect(order).toEqual(['alice', 'bob', 'alice']);
  });

  it('stops waiting when the signal aborts', async () => {
    const memory = new ReadMemory();
    const first = memory.begin();
    first.add(3 * MIB);
    const stopping = new AbortController();
    const waits = memory.waitForPlace(OWNER, stopping.signal);
    const next = memory.waitForPlace(OWNER, never());
    stopping.abort(new Error('stopped'));
    await expect(waits).rejects.toThrow('stopped');
    expect(await isSettled(next)).toBe(false);
    first.end();
    await next;
  });
});

it.each([
  [1, 208],
  [64, 208],
  [128, 416],
  [512, 1_664],
])('with files of up to %d MiB, a run may use %d MiB', (file, all) => {
  expect(readMemoryFor(file)).toBe(all * MIB);
});
