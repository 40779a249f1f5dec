import { applyPatch } from 'rfc6902';
import { describe, expect, it } from 'vitest';
import { Random } from '../../test/support/random.js';
import { jsonDiff } from './json-diff.js';

const replace = (path: string, value: unknown) => ({ op: 'replace', path, value });

describe('jsonDiff', () => {
  it.each<[string, unknown, unknown, unknown[]]>([
    ['equal values', { a: [1, { b: null }] }, { a: [1, { b: null }] }, []],
    ['a changed member', { a: 1, b: 2 }, { a: 1, b: 3 }, [replace('/b', 3)]],
    ['members in another order', { a: 1, b: 2 }, { b: 2, a: 1 }, []],
    [
      'an added and a removed member',
      { a: 1 },
      { b: 2 },
      [
        { op: 'remove', path: '/a' },
        { op: 'add', path: '/b', value: 2 },
      ],
    ],
    ['another type', { a: [1] }, { a: { 0: 1 } }, [replace('/a', { 0: 1 })]],
    ['characters of paths', { 'a/b~c': 1 }, { 'a/b~c': 2 }, [replace('/a~1b~0c', 2)]],
    [
      'a name of the prototype',
      {},
      JSON.parse('{"__proto__":1}'),
      [{ op: 'add', path: '/__proto__', value: 1 }],
    ],
    ['a changed element', [1, { a: 2 }, 3], [1, { a: 4 }, 3], [replace('/1/a', 4)]],
    ['an element added at the start', [1, 2], [0, 1, 2], [{ op: 'add', path: '/0', value: 0 }]],
    ['an element added at the end', [1], [1, 2], [{ op: 'add', path: '/1', value: 2 }]],
    ['an element removed from the middle', [[1], [2], [3]], [[1], [3]], [{ op: 'remove', path: '/1' }]],
    [
      'changes at both ends of a removal',
      [1, 2, 3, 4],
      [1, 5, 4],
      [replace('/1', 5), { op: 'remove', path: '/2' }],
    ],
    ['values that are no objects', 1, null, [replace('', null)]],
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

  it('takes time in proportion to the values, and replaces all of them if they are too many', () => {
    const pairs = (depth: number, leaf: number): unknown =>
      depth === 0 ? leaf : [pairs(depth - 1, leaf), pairs(depth - 1, leaf)];
    const long = (length: number) => Array.from({ length }, (_, index) => index);
    // Comparing each element with every other one, at each level, would take hours.
    expect(jsonDiff(pairs(15, 1), pairs(15, 2))).toHaveLength(2 ** 15);
    expect(jsonDiff({ a: long(99_990), b: 1 }, { a: long(99_990), b: 2 })).toEqual([replace('/b', 2)]);
    const after = { a: long(100_000), b: 2 };
    expect(jsonDiff({ a: long(100_000), b: 1 }, after)).toEqual([replace('', after)]);
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
