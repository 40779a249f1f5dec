import { describe, expect, it } from 'vitest';
import { ReadMemory, ReadMemoryError, readMemoryFor } from './read-memory.js';

describe('the memory of sync runs', () => {
  it('is limited', () => {
    const share = new ReadMemory(100).begin();
    for (let bytes = 0; bytes < 100; bytes += 10) share.add(10);
    expect(() => share.add(1)).toThrow(ReadMemoryError);
    expect(share.signal.aborted).toBe(true);
    expect(() => share.add(1)).toThrow(/the maximum/);
  });

  it('is taken from the largest run; the others continue', () => {
    const memory = new ReadMemory(100);
    const [small, large] = [memory.begin(), memory.begin()];
    large.add(70);
    small.add(40);
    expect([small.signal.aborted, large.signal.aborted]).toEqual([false, true]);
    expect(() => large.add(1)).toThrow(/will be retried/);
    small.add(60);
    expect(() => small.add(1)).toThrow(/the maximum/);
  });

  it('can be released in part, and only once by an ended run', () => {
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

  it('is released when a run ends', () => {
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
