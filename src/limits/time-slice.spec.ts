import { afterEach, expect, it, vi } from 'vitest';
import { isPauseDue, pauseIfDue } from './time-slice.js';

afterEach(() => void vi.restoreAllMocks());

it('pauses after a slice, even one that began in the future', async () => {
  let now = 1_000_000_000;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  await pauseIfDue();
  expect(isPauseDue(0)).toBe(false);
  now += 3;
  expect([isPauseDue(0), isPauseDue(1)]).toEqual([true, false]);
  await pauseIfDue();
  expect(isPauseDue(0)).toBe(false);
  now -= 1_000;
  expect(isPauseDue(0)).toBe(true);
});
