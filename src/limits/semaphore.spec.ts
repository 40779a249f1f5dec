import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Semaphore, SemaphoreTimeout } from './semaphore.js';

const TIMEOUT_MS = 1_000;

describe('Semaphore', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('grants free permits immediately, then serves waiters of one key in order of arrival', async () => {
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
});
