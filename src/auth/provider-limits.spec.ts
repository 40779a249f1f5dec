import { describe, expect, it } from 'vitest';
import { CircuitBreaker } from './provider-limits.js';

const PAUSE_MS = 1_000;
const failure = new Error('no response');

function aBreaker() {
  let time = 0;
  const breaker = new CircuitBreaker(3, PAUSE_MS, () => time);
  return {
    breaker,
    advance: (ms: number) => (time += ms),
    fail: (...keys: string[]) => keys.forEach((key) => breaker.failed(key, failure)),
  };
}

describe('CircuitBreaker', () => {
  it('opens once `threshold` different keys have failed, and returns the last error', () => {
    const { breaker, fail } = aBreaker();
    fail('a', 'b');
    expect(breaker.openError()).toBeUndefined();
    fail('c');
    expect(breaker.openError()).toBe(failure);
  });

  it('counts repeated failures of one key once', () => {
    const { breaker, fail } = aBreaker();
    fail('a', 'a', 'a', 'a', 'b', 'b', 'a');
    expect(breaker.openError()).toBeUndefined();
  });

  it('resets the count on success', () => {
    const { breaker, fail } = aBreaker();
    fail('a', 'b');
    breaker.succeeded();
    fail('c', 'd');
    expect(breaker.openError()).toBeUndefined();
  });

  it('lets one probe through after the pause and closes when it succeeds', () => {
    const { breaker, fail, advance } = aBreaker();
    fail('a', 'b', 'c');
    advance(PAUSE_MS - 1);
    expect(breaker.openError()).toBe(failure);
    advance(1);
    expect(breaker.openError()).toBeUndefined();
    breaker.started();
    advance(10 * PAUSE_MS);
    expect(breaker.openError()).toBe(failure);
    breaker.succeeded();
    expect(breaker.openError()).toBeUndefined();
    fail('a', 'b');
    expect(breaker.openError()).toBeUndefined();
  });

  it('reopens when the probe fails', () => {
    const { breaker, fail, advance } = aBreaker();
    fail('a', 'b', 'c');
    advance(PAUSE_MS);
    breaker.started();
    fail('a');
    expect(breaker.openError()).toBe(failure);
    advance(PAUSE_MS);
    expect(breaker.openError()).toBeUndefined();
  });
});
