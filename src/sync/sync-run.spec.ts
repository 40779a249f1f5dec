import { describe, expect, it } from 'vitest';
import { hasShrunk, retryInMs } from './sync-run.js';

describe('a source of 20 entries or more that loses more than half of them has shrunk (reference/sources)', () => {
  it.each([
    [20, 0, true],
    [20, 9, true],
    [20, 10, false],
    [21, 10, true],
    [21, 11, false],
    [19, 0, false],
    [1, 0, false],
    [0, 0, false],
    [20, 40, false],
  ])('from %d to %d: %s', (before, after, answer) => expect(hasShrunk(before, after)).toBe(answer));
});

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

it.each([
  // attempts, interval, Retry-After, expected delay
  [1, HOUR, null, 5 * SECOND],
  [2, HOUR, null, 10 * SECOND],
  [5, HOUR, null, 80 * SECOND],
  [5, MINUTE, null, MINUTE],
  [1_000_000, 24 * HOUR, null, 24 * HOUR],
  [1, HOUR, 0, 5 * SECOND],
  [1, HOUR, SECOND, 5 * SECOND],
  [1, HOUR, 90 * SECOND, 90 * SECOND],
  [6, HOUR, 90 * SECOND, 160 * SECOND],
  [1, MINUTE, 10 * MINUTE, 10 * MINUTE],
  [1, MINUTE, 24 * HOUR, HOUR],
  [1_000_000, 24 * HOUR, 2 * HOUR, 24 * HOUR],
])(
  'failure %i, interval %i ms, Retry-After %j ms: the next attempt is in %i ms',
  (attempts, interval, retryAfter, ms) => expect(retryInMs(attempts, interval, retryAfter)).toBe(ms),
);
