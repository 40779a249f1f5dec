import { describe, expect, it } from 'vitest';
import { MAX_FACET_CHARACTERS, rankOf, Result } from './entry-search.js';

const TEXTS = {
  name: 'io.github.acme/build-tools',
  title: 'Fast Compiler',
  description: 'Compiles the weather',
  tags: ['Nightly'],
};

describe('rankOf', () => {
  it.each([
    [undefined, 3],
    ['IO.GitHub.Acme/Build-Tools', 0],
    ['build-tools', 1],
    ['build', 2],
    ['tools comp', 2],
    ['github fast', 2],
    ['uild', 3],
    ['compiler weather', 3],
    ['nightly', 3],
    ['build nightly', 3],
    ['night-time', undefined],
    ['build absent', undefined],
    ['%', undefined],
    ['100%_', undefined],
  ])('ranks %s as %s', (q, rank) => {
    expect(rankOf(q, TEXTS)).toBe(rank);
  });

  it('finds a later beginning of a word', () => {
    expect(rankOf('ab', { name: 'io.acme/xab-ab', title: '', description: '', tags: [] })).toBe(2);
    expect(rankOf('ab', { name: 'io.acme/xab-xab', title: '', description: '', tags: [] })).toBe(3);
  });
});

const REQUEST = { filter: {}, sort: 'name', limit: 100, after: null } as const;
interface Body {
  items: string[];
  metadata: { count: number; nextCursor?: string };
}
const pageOf = (names: readonly string[], bytes: number) => {
  const result = new Result(REQUEST);
  for (const name of names)
    result.add({ rank: 3, updated: 0, name, type: 'server' }, () => JSON.stringify(name.padEnd(bytes - 2)));
  const { items, metadata } = JSON.parse(result.body()) as Body;
  return { names: items.map((item) => item.trim()), metadata };
};

describe('Result', () => {
  it('ends a page at 1 MiB, whatever the order of the items', () => {
    const names = ['h', 'c', 'e', 'a', 'g', 'b', 'f', 'd'];
    const { names: shown, metadata } = pageOf(names, 300 * 1_024);
    expect(shown).toEqual(['a', 'b', 'c']);
    expect(metadata).toEqual({ count: 3, nextCursor: expect.any(String) });
    expect(pageOf(names, 100 * 1_024).metadata).toEqual({ count: 8 });
  });

  it('shows one item of any size', () => {
    const { names, metadata } = pageOf(['b', 'a'], 3 * 1_024 * 1_024);
    expect(names).toEqual(['a']);
    expect(metadata.nextCursor).toBeDefined();
  });

  it('refuses more distinct values than it can count', () => {
    const result = new Result(REQUEST);
    result.count('tag', ['x'.repeat(MAX_FACET_CHARACTERS - 32)]);
    result.count('tag', ['x'.repeat(MAX_FACET_CHARACTERS - 32)]);
    result.count('tag', ['']);
    expect(() => result.count('tag', ['y'])).toThrow(expect.objectContaining({ code: 'search_too_broad' }));
  });
});
