import { describe, expect, it } from 'vitest';
import type { FoundEntry, SearchResult } from '../api/types.js';
import { countsOf } from './filter-counts.js';

function resultOf(names: readonly string[], total = names.length): SearchResult {
  const items = names.map((name): FoundEntry => ({
    type: 'server',
    name,
    version: '1.0.0',
    status: 'active',
    tags: ['db'],
    transports: ['sse'],
    installable: true,
    updatedAt: '2026-01-01T00:00:00Z',
  }));
  const facets = { type: { server: total }, tag: { db: total }, transport: { sse: total } };
  return { items, facets, metadata: { count: items.length } };
}

describe('countsOf', () => {
  it('counts an entry of two registries once', () => {
    expect(countsOf([resultOf(['a/one', 'a/two']), resultOf(['a/two'])])).toEqual({
      type: { server: 2 },
      tag: { db: 2 },
      transport: { sse: 2 },
      publisher: { a: 2 },
      installable: { true: 2 },
    });
  });

  it('uses the server’s counts for a single registry that was not read completely', () => {
    expect(countsOf([resultOf(['a/one'], 300)])).toEqual({
      type: { server: 300 },
      tag: { db: 300 },
      transport: { sse: 300 },
      publisher: { a: undefined },
      installable: { true: undefined },
    });
  });

  it('does not add up the counts of registries that may show the same entries', () => {
    const { type, tag, transport } = countsOf([resultOf(['a/one'], 300), resultOf(['a/one'])]);
    expect({ type, tag, transport }).toEqual({
      type: { server: undefined },
      tag: { db: undefined },
      transport: { sse: undefined },
    });
    expect(Object.keys(type)).toEqual(['server']);
  });
});
