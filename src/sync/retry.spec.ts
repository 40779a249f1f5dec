import { expect, it } from 'vitest';
import { retryInMs } from './retry.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

it.each([
  // attempts, interval, Retry-After, answer
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
  'failure %i with an interval of %i ms, Retry-After %j ms: again in %i ms',
  (attempts, interval, retryAfter, ms) => expect(retryInMs(attempts, interval, retryAfter)).toBe(ms),
);
