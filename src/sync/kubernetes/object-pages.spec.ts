import { expect, it } from 'vitest';
import { nextLimit } from './object-pages.js';

const MIB = 1024 * 1024;

it.each([
  [50, 50, 50 * 1_000, 100],
  [200, 200, 200 * 1_000, 250],
  [250, 250, 4 * MIB, 250],
  [250, 250, 8 * MIB, 125],
  [3, 3, 3 * MIB, 4],
  [3, 3, 6 * MIB, 2],
  [1, 1, 16 * MIB, 1],
  [1, 1, MIB, 2],
  [50, 0, 200, 50],
])('limit %i, %i objects with %i bytes: the next limit is %i', (limit, objects, bytes, next) =>
  expect(nextLimit(limit, objects, bytes)).toBe(next),
);
