import { describe, expect, it } from 'vitest';
import { indexedEntry, KindPool, mayBeListed } from './indexed-entry.js';

/** @param texts null if they are unknown. */
function entryOf(texts: readonly string[] | null) {
  return indexedEntry(
    {
      sourceId: 1,
      type: 'server',
      name: 'io.x/y',
      claimSetId: 1,
      status: 'active',
      changedAt: 0,
      publishedAt: null,
      texts,
      members: null,
      summary: {
        title: 'Query Studio',
        description: 'Runs: SQL',
        tags: ['tagged'],
        transports: [],
        installable: false,
      },
    },
    new KindPool(),
  );
}

describe('a list with a search text may find an entry', () => {
  const own = 'io.x/y\nquery studio\nruns: sql';

  it.each([
    [own, 'x/y', true],
    [own, 'o\nruns: s', true],
    [own, 'tagged', false],
    [own, 'l\nt', false],
    ['io.x/y\nolder', 'older', true],
    ['io.x/y\nolder', 'runs', false],
  ])('of %j by %j: %s', (text, search, expected) => {
    expect(mayBeListed(entryOf([text]), search)).toBe(expected);
  });

  it('with any search text if its texts are unknown', () => {
    expect(mayBeListed(entryOf(null), 'anything')).toBe(true);
  });
});
