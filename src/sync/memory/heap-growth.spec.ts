import { expect, it } from 'vitest';
import { HeapGrowth } from './heap-growth.js';

const MIB = 1024 * 1024;

it('is kept small while more than 32 MiB are read, and V8 is told of changes only', () => {
  const told: number[] = [];
  const heap = new HeapGrowth((percent) => told.push(percent));
  for (const read of [0, 10, 32, 33, 200, 40, 32, 0]) heap.fit(read * MIB);
  expect(told).toEqual([100, 20, 100]);
});
