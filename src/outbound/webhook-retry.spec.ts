import { expect, it } from 'vitest';
import { webhookRetryInMs } from './webhook-retry.js';

it.each([
  [1, 4_000, 5_000],
  [2, 8_000, 10_000],
  [3, 16_000, 20_000],
  [7, 240_000, 300_000],
  [1_000_000, 240_000, 300_000],
])('after %i failures the next attempt comes after %i to %i ms', (failures, least, most) => {
  expect(webhookRetryInMs(failures, 1)).toBe(least);
  expect(webhookRetryInMs(failures, 0)).toBe(most);
});
