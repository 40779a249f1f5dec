import { expect, it } from 'vitest';
import type { FoundEntry } from '../api/types.js';
import { mergeResults } from './merge-results.js';
import type { Sort } from './search.js';

function found(name: string, title = '', updatedAt = '2026-01-01T00:00:00Z'): FoundEntry {
  const more = { tags: [], transports: [], installable: true, version: '1.0.0', status: 'active' } as const;
  return { type: 'server', name, title, updatedAt, ...more, tags: [], transports: [] };
}

const RESULTS = [
  {
    registry: 'one',
    result: {
      items: [
        found('io.b/github-search', '', '2026-03-01T00:00:00Z'),
        found('io.a/tool', 'For GitHub'),
        found('io.c/mygithub'),
      ],
    },
  },
  {
    registry: 'two',
    result: { items: [found('io.z/github'), found('io.a/tool', 'For GitHub'), found('github')] },
  },
];

const named = (search: string, sort: Sort) =>
  mergeResults(RESULTS, search, sort).map(({ entry }) => entry.name);

it('lists the best matches of all registries first, each once', () => {
  expect(named('GitHub', 'relevance')).toEqual([
    'github',
    'io.z/github',
    'io.a/tool',
    'io.b/github-search',
    'io.c/mygithub',
  ]);
});

it.each<[Sort, string]>([
  ['name', 'github'],
  ['updated', 'io.b/github-search'],
])('begins with the first by %s', (sort, first) => expect(named('', sort)[0]).toBe(first));

it('names the registries of an entry, in their order', () => {
  const tool = mergeResults(RESULTS, 'tool', 'relevance');
  expect(tool.find(({ entry }) => entry.name === 'io.a/tool')?.registries).toEqual(['one', 'two']);
});
