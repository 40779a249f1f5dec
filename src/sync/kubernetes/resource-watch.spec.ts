import { expect, it } from 'vitest';
import { backOffMs } from './resource-watch.js';

it.each([
  [0, 100],
  [1, 200],
  [5, 3_200],
  [6, 5_000],
  [19, 5_000],
  [20, 30_000],
  [1_000, 30_000],
])('backs off after %i failures for at most %i ms and at least half of it', (failures, ms) => {
  expect([backOffMs(failures, 0), backOffMs(failures, 1)]).toEqual([ms / 2, ms]);
});

it('reconnects within 5 s after an outage of 17 s', () => {
  let passed = 0;
  for (let failures = 0; passed < 17_000; failures += 1) passed += backOffMs(failures, 1);
  expect(passed).toBeLessThan(17_000 + 5_000);
});
