import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Semaphore, SemaphoreTimeout } from './semaphore.js';

const TIMEOUT_MS = 1_000;

describe('Semaphore', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('grants free permits at once, then serves waiters of one key in order of arrival', async () => {
    const semaphore = new Semaphore(2, TIMEOUT_MS);
    const release = await semaphore.acquire('one');
    await semaphore.acquire('one');
    const order: string[] = [];
    const first = semaphore.acquire('one').then((next) => (order.push('first'), next));
    const second = semaphore.acquire('one').then(() => order.push('second'));
    release();
    (await first)();
    await second;
    expect(order).toEqual(['first', 'second']);
  });

  it('serves waiters round-robin by key', async () => {
    const semaphore = new Semaphore(1, TIMEOUT_MS);
    const release = await semaphore.acquire('one');
    const order: string[] = [];
    for (const key of ['greedy', 'greedy', 'greedy', 'greedy', 'modest', 'late', 'modest'])
      void semaphore.acquire(key).then((next) => {
        order.push(key);
        next();
      });
    release();
    await vi.advanceTimersByTimeAsync(0);
    expect(order).toEqual(['greedy', 'modest', 'late', 'greedy', 'modest', 'greedy', 'greedy']);
  });

  it('rejects with SemaphoreTimeout after the timeout and keeps the permit for others', async () => {
    const semaphore = new Semaphore(1, TIMEOUT_MS);
    const release = await semaphore.acquire('one');
    const refused = expect(semaphore.acquire('one')).rejects.toThrow(SemaphoreTimeout);
    vi.advanceTimersByTime(TIMEOUT_MS);
    await refused;
    release();
    expect(await semaphore.acquire('one')).toBeTypeOf('function');
  });

  it('rejects with the abort reason and keeps the permit for others', async () => {
    const semaphore = new Semaphore(1, TIMEOUT_MS);
    const release = await semaphore.acquire('one');
    const client = new AbortController();
    const waiting = expect(semaphore.acquire('one', client.signal)).rejects.toThrow('gone');
    client.abort(new Error('gone'));
    await waiting;
    release();
    await expect(semaphore.acquire('one', client.signal)).rejects.toThrow('gone');
    expect(await semaphore.acquire('one')).toBeTypeOf('function');
  });

  it('skips a paused key until its consecutive pauses have ended', async () => {
    const semaphore = new Semaphore(1, TIMEOUT_MS);
    const release = await semaphore.acquire('large');
    semaphore.pause('large', 100);
    semaphore.pause('large', 200);
    release();
    const order: string[] = [];
    const acquire = (key: string) =>
      semaphore.acquire(key).then((next) => {
        order.push(key);
        next();
      });
    void acquire('large');
    void acquire('small');
    await vi.advanceTimersByTimeAsync(299);
    expect(order).toEqual(['small']);
    await vi.advanceTimersByTimeAsync(1);
    expect(order).toEqual(['small', 'large']);
    expect(semaphore.tryAcquire('large')).toBeTypeOf('function');
  });

  it('serves a paused key one waiter at a time, until none is left', async () => {
    const semaphore = new Semaphore(3, TIMEOUT_MS);
    semaphore.pause('large', 100);
    const releases: (() => void)[] = [];
    for (let waiter = 0; waiter < 4; waiter += 1)
      void semaphore.acquire('large').then((release) => releases.push(release));
    const aborted = new AbortController();
    const gone = expect(semaphore.acquire('large', aborted.signal)).rejects.toThrow('gone');
    await vi.advanceTimersByTimeAsync(100);
    expect(releases).toHaveLength(1);
    const other = semaphore.tryAcquire('small');
    other?.();
    await vi.advanceTimersByTimeAsync(1);
    expect(releases).toHaveLength(1);
    semaphore.pause('large', 50);
    releases[0]?.();
    await vi.advanceTimersByTimeAsync(49);
    expect(releases).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(releases).toHaveLength(2);
    releases[1]?.();
    await vi.advanceTimersByTimeAsync(0);
    expect(releases).toHaveLength(3);
    releases[2]?.();
    await vi.advanceTimersByTimeAsync(0);
    expect(releases).toHaveLength(4);
    aborted.abort(new Error('gone'));
    await gone;
    releases[3]?.();
    const again = [1, 2, 3, 4].map(() => semaphore.tryAcquire('large') !== undefined);
    expect(again).toEqual([true, true, true, false]);
  });

  it('ends the throttling of a key whose waiters leave', async () => {
    const semaphore = new Semaphore(1, TIMEOUT_MS);
    const release = await semaphore.acquire('small');
    semaphore.pause('large', 100);
    const refused = expect(semaphore.acquire('large')).rejects.toThrow(SemaphoreTimeout);
    await vi.advanceTimersByTimeAsync(TIMEOUT_MS);
    await refused;
    release();
    expect(semaphore.tryAcquire('large')).toBeTypeOf('function');
  });

  it('queues a key normally after its pause', async () => {
    const semaphore = new Semaphore(1, TIMEOUT_MS);
    semaphore.pause('large', 100);
    expect(semaphore.tryAcquire('large')).toBeUndefined();
    const release = await semaphore.acquire('small');
    const waiting = semaphore.acquire('large');
    await vi.advanceTimersByTimeAsync(100);
    release();
    expect(await waiting).toBeTypeOf('function');
  });
});
