import { applyPatch } from 'rfc6902';
import { describe, expect, it } from 'vitest';
import { Random } from '../../test/support/random.js';
import { jsonDiff } from './json-diff.js';

const replace = (path: string, value: unknown) => ({ op: 'replace', path, value });

describe('jsonDiff', () => {
  it.each<[string, unknown, unknown, unknown[]]>([
    ['equal values', { a: [1, { b: null }] }, { a: [1, { b: null }] }, []],
    ['members in another order', { a: 1, b: 2 }, { b: 2, a: 1 }, []],
    ['another type', { a: [1] }, { a: { 0: 1 } }, [replace('/a', { 0: 1 })]],
    [
      'a name of the prototype',
      {},
      JSON.parse('{"__proto__":1}'),
      [{ op: 'add', path: '/__proto__', value: 1 }],
    ],
    ['a changed element', [1, { a: 2 }, 3], [1, { a: 4 }, 3], [replace('/1/a', 4)]],
    ['an element added at the start', [1, 2], [0, 1, 2], [{ op: 'add', path: '/0', value: 0 }]],
  ])('%s', (_, before, after, operations) => {
    expect(jsonDiff(before, after)).toEqual(operations);
  });

  it('changes any value into any other', () => {
    const random = new Random(1);
    const aValue = (depth: number): unknown => {
      const many = <T>(one: (index: number) => T) =>
        Array.from({ length: random.between(0, 4) }, (_, i) => one(i));
      if (depth === 0 || random.chance(0.3)) return random.pick([1, 2, 'a', 'b', null, true]);
      if (random.chance(0.5)) return many(() => aValue(depth - 1));
      return Object.fromEntries(
        many((index) => [`${random.pick(['a', '/', '~'])}${index}`, aValue(depth - 1)]),
      );
    };
    const wrong: unknown[] = [];
    for (let count = 0; count < 3_000; count += 1) {
      const [before, after] = [{ value: aValue(4) }, { value: aValue(4) }];
      const patched = structuredClone(before);
      const problems = applyPatch(patched, jsonDiff(before, after) as never).filter(
        (error) => error !== null,
      );
      if (problems.length > 0 || JSON.stringify(sorted(patched)) !== JSON.stringify(sorted(after)))
        wrong.push({ before, after, patched });
    }
    expect(wrong).toEqual([]);
  });

  it('replaces long lists that differ, and everything if there is too much to compare', () => {
    const nested = (depth: number, leaf: number): unknown =>
      depth === 0 ? leaf : [nested(depth - 1, leaf), nested(depth - 1, leaf)];
    const deep = (depth: number, leaf: unknown): unknown => (depth === 0 ? leaf : deep(depth - 1, [leaf]));
    const long = (length: number) => Array.from({ length }, (_, index) => index);
    expect(jsonDiff({ a: long(99_990), b: 1 }, { a: long(99_990), b: 2 })).toEqual([replace('/b', 2)]);
    expect(jsonDiff({ a: long(51), b: 1 }, { a: long(52), b: 1 })).toEqual([replace('/a', long(52))]);
    // Comparing each element with every other one, at each level, would take hours.
    for (const of of [nested, deep]) {
      const after = of(15, 2);
      expect(jsonDiff(nested(15, 1), after)).toEqual([replace('', after)]);
    }
  });
});

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, one]) => [key, sorted(one)]),
  );
}
