import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isDeeperThan } from './json-depth.js';

it.each([
  ['1', 0, false],
  ['[]', 0, true],
  ['[]', 1, false],
  ['[[],[]]', 2, false],
  ['[{"a":[]}]', 2, true],
  ['[{"a":[]}]', 3, false],
  ['"[[["', 0, false],
  ['["\\"[[",[]]', 2, false],
  ['["\\\\",[]]', 1, true],
  ['[[[', 2, true],
  ['"[', 0, false],
])('%s is nested deeper than %d levels: %s', (text, levels, answer) => {
  expect(isDeeperThan(Buffer.from(text), levels)).toBe(answer);
});

const depthOf = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? 1 + Math.max(0, ...Object.values(value).map((member) => depthOf(member)))
    : 0;

it('agrees with the depth of what the text is parsed to', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 8 }), (value) => {
      const bytes = Buffer.from(JSON.stringify(value));
      const depth = depthOf(value);
      return !isDeeperThan(bytes, depth) && (depth === 0 || isDeeperThan(bytes, depth - 1));
    }),
  );
});
