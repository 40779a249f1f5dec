import { expect, it } from 'vitest';
import type { FoundEntry } from '../api/types.js';
import { mergeResults, newest } from './merge-results.js';
import type { Sort } from './search.js';

function found(name: string, more: Partial<FoundEntry> = {}): FoundEntry {
  return {
    type: 'server',
    name,
    version: '1.0.0',
    status: 'active',
    tags: [],
    transports: [],
    installable: true,
    clients: ['vscode'],
    updatedAt: '2026-01-01T00:00:00Z',
    ...more,
  };
}

const RESULTS = [
  {
    registry: 'one',
    result: {
      items: [
        found('io.z/github', { relevance: 4, statedAt: '2026-01-01T00:00:00Z' }),
        found('io.a/tool', { relevance: 8, statedAt: '2026-03-01T00:00:00Z', status: 'deprecated' }),
        found('io.c/mygithub', { relevance: 9, clients: [], publishedAt: '2026-02-03T00:00:00Z' }),
      ],
    },
  },
  {
    registry: 'two',
    result: {
      items: [
        found('io.b/github', { relevance: 4, publishedAt: '2026-02-01T00:00:00Z' }),
        found('io.a/tool', { relevance: 8 }),
        found('io.d/undated', { relevance: 16, updatedAt: '2026-04-01T00:00:00Z' }),
      ],
    },
  },
];

const named = (sort: Sort) => mergeResults(RESULTS, sort).map(({ entry }) => entry.name);

it.each<[Sort, string[]]>([
  // If they are equally relevant, the first registry's comes first.
  ['relevance', ['io.z/github', 'io.b/github', 'io.a/tool', 'io.c/mygithub', 'io.d/undated']],
  ['name', ['io.a/tool', 'io.b/github', 'io.c/mygithub', 'io.d/undated', 'io.z/github']],
  // The time of a sync does not count as a date.
  ['updated', ['io.a/tool', 'io.c/mygithub', 'io.b/github', 'io.z/github', 'io.d/undated']],
])('lists each entry once, by %s', (sort, names) => expect(named(sort)).toEqual(names));

it('lists the registries of an entry, in their order', () => {
  const tool = mergeResults(RESULTS, 'relevance').find(({ entry }) => entry.name === 'io.a/tool');
  expect(tool?.registries).toEqual(['one', 'two']);
});

it('new entries have a date and can be installed', () => {
  const names = newest(RESULTS).map(({ entry }) => entry.name);
  expect(names).toEqual(['io.b/github', 'io.z/github']);
});
