import { expect, it } from 'vitest';
import type { FoundEntry } from '../api/types.js';
import { representingEntry } from './representing-entry.js';

const found = (...names: readonly string[]) =>
  names.map((name) => ({ type: 'server', name }) as unknown as FoundEntry);

it.each<[string, FoundEntry[][], string | undefined]>([
  ['nothing', [], undefined],
  ['one package', [found('io.a/x', 'io.a/y')], 'io.a/x'],
  ['packages of one server', [found('io.a/x', 'io.a/y'), found('io.a/y')], 'io.a/y'],
  ['a package of a server next to an unknown one', [found('io.a/x'), []], undefined],
  ['packages of two servers', [found('io.a/x'), found('io.a/y')], undefined],
])('returns the page that all of %s have', (_, results, expected) => {
  expect(representingEntry(results)?.name).toBe(expected);
});
