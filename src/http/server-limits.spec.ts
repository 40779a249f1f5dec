import { expect, it } from 'vitest';
import { connectionsThatFit } from './server-limits.js';

it.each([
  [2_000, Infinity, 2_000],
  [2_000, 2_756, 2_000],
  [2_000, 2_755, 1_999],
  [2_000, 1_024, 614],
  [2_000, 128, 51],
  [100, 1_024, 100],
  [2_000, 1, 1],
])('of %i connections, with %d descriptors, %i fit', (connections, descriptors, fitting) => {
  expect(connectionsThatFit(connections, descriptors)).toBe(fitting);
});
