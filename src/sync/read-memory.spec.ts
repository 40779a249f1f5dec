import { describe, expect, it } from 'vitest';
import { ReadMemory, ReadMemoryError, readMemoryFor } from './read-memory.js';

describe('the memory of runs', () => {
  it('is as much as one likes, up to the limit', () => {
    const share = new ReadMemory(100).begin();
    for (let bytes = 0; bytes < 100; bytes += 10) share.add(10);
    expect(() => share.add(1)).toThrow(ReadMemoryError);
    expect(share.signal.aborted).toBe(true);
    expect(() => share.add(1)).toThrow(/the most that is read/);
  });

  it('is taken from the run that holds most, and the others go on', () => {
    const memory = new ReadMemory(100);
    const [small, large] = [memory.begin(), memory.begin()];
    large.add(70);
    small.add(40);
    expect([small.signal.aborted, large.signal.aborted]).toEqual([false, true]);
    expect(() => large.add(1)).toThrow(/tried again/);
    small.add(60);
    expect(() => small.add(1)).toThrow(/the most that is read/);
  });

  it('is given back in part, and not twice by a run that had to end', () => {
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

  it('is given back when a run ends, once', () => {
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
])('where files of %d MiB are read, all runs together hold %d MiB', (file, all) => {
  expect(readMemoryFor(file)).toBe(all * 1024 * 1024);
});
