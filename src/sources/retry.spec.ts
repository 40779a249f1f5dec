import { expect, it } from 'vitest';
import { retryInMs, watchRetryInMs } from './retry.js';

it.each([
  [1, 100],
  [2, 200],
  [6, 3_200],
  [7, 5_000],
  [20, 5_000],
  [21, 30_000],
  [1_000, 30_000],
])('a watch backs off after %i failures for at most %i ms and at least half of it', (failures, ms) => {
  expect([watchRetryInMs(failures, 1), watchRetryInMs(failures, 0)]).toEqual([ms / 2, ms]);
});

it('a watch reconnects within 5 s after an outage of 17 s', () => {
  let passed = 0;
  for (let failures = 1; passed < 17_000; failures += 1) passed += watchRetryInMs(failures, 0);
  expect(passed).toBeLessThan(17_000 + 5_000);
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
