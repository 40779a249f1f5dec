import { expect, it } from 'vitest';
import { backOffMs, WEBHOOK_BACK_OFF } from './back-off.js';

it.each([
  [1, 4_000, 5_000],
  [2, 8_000, 10_000],
  [3, 16_000, 20_000],
  [7, 240_000, 300_000],
  [1_000_000, 240_000, 300_000],
])('after %i failures the next attempt comes after %i to %i ms', (failures, least, most) => {
  expect(backOffMs(failures, WEBHOOK_BACK_OFF, 1)).toBe(least);
  expect(backOffMs(failures, WEBHOOK_BACK_OFF, 0)).toBe(most);
});
