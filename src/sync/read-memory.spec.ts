import { describe, expect, it } from 'vitest';
import { HeapGrowth, ReadMemory, ReadMemoryError, readMemoryFor } from './read-memory.js';

describe('ReadMemory', () => {
  it('ends a run that exceeds the limit', () => {
    const share = new ReadMemory(100).begin();
    for (let bytes = 0; bytes < 100; bytes += 10) share.add(10);
    expect(() => share.add(1)).toThrow(ReadMemoryError);
    expect(share.signal.aborted).toBe(true);
    expect(() => share.add(1)).toThrow(/the maximum/);
  });

  it('ends the largest run and lets the others continue', () => {
    const memory = new ReadMemory(100);
    const [small, large] = [memory.begin(), memory.begin()];
    large.add(70);
    small.add(40);
    expect([small.signal.aborted, large.signal.aborted]).toEqual([false, true]);
    expect(() => large.add(1)).toThrow(/will be retried/);
    small.add(60);
    expect(() => small.add(1)).toThrow(/the maximum/);
  });

  it('releases memory in part, and ignores releases by an ended run', () => {
    const memory = new ReadMemory(100);
    const share = memory.begin();
    share.add(90);
    share.release(80);
    share.add(90);
    expect(() => share.add(1)).toThrow(ReadMemoryError);
    share.release(90);
    const next = memory.begin();
    next.add(100);
    expect(() => next.add(1)).toThrow(ReadMemoryError);
  });

  it('is reported whenever it changes', () => {
    const reported: number[] = [];
    const memory = new ReadMemory(100, (bytes) => reported.push(bytes));
    const [one, other] = [memory.begin(), memory.begin()];
    one.add(30);
    other.add(20);
    one.release(10);
    one.end();
    one.end();
    other.end();
    expect(reported).toEqual([30, 50, 40, 20, 0]);
  });

  it('releases the memory of a run when it ends', () => {
    const memory = new ReadMemory(100);
    const first = memory.begin();
    first.add(90);
    first.end();
    first.end();
    const second = memory.begin();
    second.add(100);
    expect(() => second.add(1)).toThrow(ReadMemoryError);
  });
});

it.each([
  [1, 208],
  [64, 208],
  [128, 416],
  [512, 1_664],
])('with files of up to %d MiB, all runs hold at most %d MiB together', (file, all) => {
  expect(readMemoryFor(file)).toBe(all * 1024 * 1024);
});

const MIB = 1024 * 1024;

it('limits heap growth while runs hold more than 32 MiB, and sets the V8 flag only on changes', () => {
  const flags: number[] = [];
  const heap = new HeapGrowth((percent) => flags.push(percent));
  for (const held of [0, 10, 32, 33, 200, 40, 32, 0]) heap.fit(held * MIB);
  expect(flags).toEqual([100, 20, 100]);
});
