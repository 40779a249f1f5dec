import { describe, expect, it } from 'vitest';
import { hasShrunk } from './shrink-guard.js';

describe('a source of 20 entries or more that loses more than half of them has shrunk (reference/sources)', () => {
  it.each([
    [20, 0, true],
    [20, 9, true],
    [20, 10, false],
    [21, 10, true],
    [21, 11, false],
    [19, 0, false],
    [1, 0, false],
    [0, 0, false],
    [20, 40, false],
  ])('from %d to %d: %s', (before, after, answer) => expect(hasShrunk(before, after)).toBe(answer));
});
