import { describe, expect, it } from 'vitest';
import { CircuitBreaker } from './circuit-breaker.js';

const PAUSE_MS = 1_000;
const trouble = new Error('it does not answer');

function aBreaker() {
  let time = 0;
  const breaker = new CircuitBreaker(3, PAUSE_MS, () => time);
  return {
    breaker,
    passes: (ms: number) => (time += ms),
    fails: (...names: string[]) => names.forEach((name) => breaker.failed(name, trouble)),
  };
}

describe('a circuit breaker', () => {
  it('opens when as many different ones have failed as it takes, and tells the last failure', () => {
    const { breaker, fails } = aBreaker();
    fails('a', 'b');
    expect(breaker.refusal()).toBeUndefined();
    fails('c');
    expect(breaker.refusal()).toBe(trouble);
  });

  it('is not opened by one that fails again and again', () => {
    const { breaker, fails } = aBreaker();
    fails('a', 'a', 'a', 'a', 'b', 'b', 'a');
    expect(breaker.refusal()).toBeUndefined();
  });

  it('counts anew after a success', () => {
    const { breaker, fails } = aBreaker();
    fails('a', 'b');
    breaker.succeeded();
    fails('c', 'd');
    expect(breaker.refusal()).toBeUndefined();
  });

  it('lets one through after the pause, and no other until that has ended', () => {
    const { breaker, fails, passes } = aBreaker();
    fails('a', 'b', 'c');
    passes(PAUSE_MS - 1);
    expect(breaker.refusal()).toBe(trouble);
    passes(1);
    expect(breaker.refusal()).toBeUndefined();
    breaker.begins();
    passes(10 * PAUSE_MS);
    expect(breaker.refusal()).toBe(trouble);
    breaker.succeeded();
    expect(breaker.refusal()).toBeUndefined();
    fails('a', 'b');
    expect(breaker.refusal()).toBeUndefined();
  });

  it('opens again when the one that was let through fails', () => {
    const { breaker, fails, passes } = aBreaker();
    fails('a', 'b', 'c');
    passes(PAUSE_MS);
    breaker.begins();
    fails('a');
    expect(breaker.refusal()).toBe(trouble);
    passes(PAUSE_MS);
    expect(breaker.refusal()).toBeUndefined();
  });
});
