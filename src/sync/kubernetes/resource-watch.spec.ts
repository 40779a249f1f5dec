import { expect, it } from 'vitest';
import { retryMs } from './resource-watch.js';

it.each([
  [1, 100],
  [2, 200],
  [6, 3_200],
  [7, 5_000],
  [20, 5_000],
  [21, 30_000],
  [1_000, 30_000],
])('backs off after %i failures for at most %i ms and at least half of it', (failures, ms) => {
  expect([retryMs(failures, 1), retryMs(failures, 0)]).toEqual([ms / 2, ms]);
});

it('reconnects within 5 s after an outage of 17 s', () => {
  let passed = 0;
  for (let failures = 1; passed < 17_000; failures += 1) passed += retryMs(failures, 0);
  expect(passed).toBeLessThan(17_000 + 5_000);
});
