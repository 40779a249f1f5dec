import { describe, expect, it } from 'vitest';
import { largestShareOfOneTurn } from '../../../test/support/event-loop.js';
import { inSoak } from '../../../test/support/soak.js';
import { ENTRY_TYPE_NAMES } from '../../documents/entry-types.js';
import { type EntrySearch, wordsOf } from '../entry-search.js';
import type { IndexedSummary } from './entry-columns.js';
import { type EntryChange, EntryIndex } from './entry-index.js';
import { type FoundPlace, listIndex, searchIndex } from './index-search.js';

/** Largest share of the CPU time of work that lets other requests go on. */
const A_TURN = 0.3;

type Partitions = readonly (readonly [id: number, rank: number])[];

/** Seeded pseudorandom numbers (mulberry32). */
function dice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % sides;
  };
}

const WORDS = [
  'git',
  'Git-hub',
  'digit',
  'für',
  'ÜBER',
  '倉庫',
  'x',
  '😀b',
  'a/b',
  'İstanbul',
  '100%',
  'tools',
];
const NAMES = [
  'io.a/git',
  'io.a/Git-Hub',
  'io.b/git',
  'io.b/digit',
  'io.c/tools',
  'io.c/x',
  'io.a/gitx',
  'io.A/git',
];

function aSummary(roll: (sides: number) => number): IndexedSummary {
  const some = (texts: readonly string[], most: number) =>
    Array.from({ length: roll(most + 1) }, () => texts[roll(texts.length)] ?? '');
  const sourceId = 1 + roll(3);
  return {
    sourceId,
    partitionId: 10 * sourceId + roll(3),
    type: ENTRY_TYPE_NAMES[roll(3)] ?? 'server',
    name: NAMES[roll(2 * NAMES.length)] ?? `io.d/tool-${roll(60)}`,
    status: roll(5) === 0 ? 'deleted' : 'active',
    title: roll(2) === 0 ? null : some(WORDS, 3).join(' '),
    description: roll(2) === 0 ? null : some(WORDS, 5).join('\n '),
    tags: [...new Set(some(WORDS, 3))],
    transports: [...new Set(some(['stdio', 'sse'], 2))],
    installable: roll(2) === 0,
    updated: roll(4),
    otherTexts: roll(9) === 0 ? null : some(['git x', 'x git\n倉庫', 'absent at first'], 2),
  };
}

/** The visible entries that no other shadows. */
function firstOf(entries: readonly IndexedSummary[], partitions: Partitions): IndexedSummary[] {
  const ranks = new Map(partitions);
  const visible = entries.filter(({ partitionId }) => ranks.has(partitionId));
  return visible.filter((entry) =>
    visible.every(
      (other) =>
        other.name !== entry.name ||
        other.type !== entry.type ||
        (ranks.get(other.partitionId) ?? 0) >= (ranks.get(entry.partitionId) ?? 0),
    ),
  );
}

/** Marks the beginning of each word: every character that follows neither a letter nor a digit. */
function withWordStarts(text: string): string {
  return text.replace(/(?<![\p{L}\p{N}])(?=.)/gsu, '\u0001');
}

/** What the contract says (§6, §6.3), entry by entry. */
function expectedOf(entries: readonly IndexedSummary[], partitions: Partitions, request: EntrySearch) {
  const first = firstOf(entries, partitions);
  const { q, type, tag, transport, publisher, installable } = request.filter;
  const words = wordsOf(q);
  const found = first
    .filter((entry) => entry.status === 'active')
    .filter((entry) => type === undefined || entry.type === type)
    .filter((entry) => tag === undefined || entry.tags.includes(tag))
    .filter((entry) => transport === undefined || entry.transports.includes(transport))
    .filter((entry) => publisher === undefined || entry.name.startsWith(`${publisher}/`))
    .filter((entry) => installable === undefined || entry.installable === installable)
    .filter(({ name, title, description, tags }) => {
      const text = [name, title ?? '', description ?? '', ...tags].join('\n').toLowerCase();
      return words.every((word) => text.includes(word));
    })
    .map((entry) => ({ ...entry, rank: words.length === 0 ? 3 : rankOf(entry, words) }));
  const byName = (one: (typeof found)[number], other: (typeof found)[number]) =>
    Buffer.compare(Buffer.from(one.name), Buffer.from(other.name)) ||
    ENTRY_TYPE_NAMES.indexOf(one.type) - ENTRY_TYPE_NAMES.indexOf(other.type);
  const orders = {
    name: byName,
    relevance: (one: (typeof found)[number], other: (typeof found)[number]) =>
      one.rank - other.rank || byName(one, other),
    updated: (one: (typeof found)[number], other: (typeof found)[number]) =>
      other.updated - one.updated || byName(one, other),
  };
  return found.sort(orders[request.sort]);
}

function rankOf({ name, title }: IndexedSummary, words: readonly string[]): number {
  const lower = name.toLowerCase();
  const [word = ''] = words;
  if (words.length === 1 && lower === word) return 0;
  if (words.length === 1 && !word.includes('/') && lower.endsWith(`/${word}`)) return 1;
  const marked = [lower, (title ?? '').toLowerCase()].map(withWordStarts).join('\n');
  return words.every((each) => marked.includes(withWordStarts(each))) ? 2 : 3;
}

const placed = ({ type, name, partitionId, rank, updated }: FoundPlace): FoundPlace => ({
  type,
  name,
  partitionId,
  rank,
  updated,
});
const keyOf = ({ sourceId, type, name }: Pick<EntryChange, 'sourceId' | 'type' | 'name'>) =>
  `${sourceId} ${type} ${name}`;

/** Adds summaries like the first search of a source: by name and type. */
async function load(index: EntryIndex, summaries: readonly IndexedSummary[]): Promise<void> {
  const ordered = [...summaries].sort(
    (one, other) =>
      Buffer.compare(Buffer.from(one.name), Buffer.from(other.name)) ||
      ENTRY_TYPE_NAMES.indexOf(one.type) - ENTRY_TYPE_NAMES.indexOf(other.type),
  );
  await index.place(ordered.map((summary) => index.append(summary)));
}

describe('searchIndex', () => {
  it.each(Array.from({ length: 30 }, (_, seed) => seed))(
    'finds what an entry by entry search finds (%i)',
    async (seed) => {
      const roll = dice(seed);
      const index = new EntryIndex();
      const stored = new Map<string, IndexedSummary>();
      const loaded = Array.from({ length: seed % 2 === 0 ? 20 : 200 }, () => aSummary(roll));
      for (const summary of loaded) stored.set(keyOf(summary), summary);
      for (const sourceId of [1, 2, 3])
        await load(
          index,
          [...stored.values()].filter((summary) => summary.sourceId === sourceId),
        );
      for (let round = 0; round < 12; round += 1) {
        const changes = Array.from({ length: roll(6) }, (): EntryChange => {
          const summary = aSummary(roll);
          return { ...summary, summary: roll(3) === 0 ? null : summary };
        });
        const distinct = [...new Map(changes.map((change) => [keyOf(change), change])).values()];
        await index.apply(distinct);
        for (const change of distinct)
          if (change.summary) stored.set(keyOf(change), change.summary);
          else stored.delete(keyOf(change));
        if (roll(4) === 0) await index.compact();
        const partitions: Partitions = [1, 2, 3].flatMap((sourceId) => {
          const rank = 1 + ((sourceId + round) % 3);
          return [0, 1, 2].flatMap((number) =>
            roll(3) > 0 ? [[10 * sourceId + number, rank] as const] : [],
          );
        });
        const pick = <T>(values: readonly T[]): T | undefined =>
          roll(3) === 0 ? values[roll(values.length)] : undefined;
        const filter = {
          q: pick([
            'git',
            'i',
            'x git',
            'io.a/git',
            'git-hub',
            'über',
            '庫',
            'b',
            'absent',
            '%',
            'tools',
            'i̇s',
            'io.A',
            'tool-7',
            '7',
            'o',
            ...'abcdghlmnrstuy02',
          ]),
          type: pick(ENTRY_TYPE_NAMES),
          tag: pick(['git', 'ÜBER', 'absent']),
          transport: pick(['stdio', 'absent']),
          publisher: pick(['io.a', 'io', 'io.b']),
          installable: pick([true, false]),
        };
        const set = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
        const limit = 1 + roll(4);
        const sort = (['relevance', 'updated', 'name'] as const)[roll(3)] ?? 'name';
        const request: EntrySearch = { filter: set, sort, limit, after: null };
        const expected = expectedOf([...stored.values()], partitions, request);
        const paged: FoundPlace[] = [];
        for (let after: FoundPlace | null = null; ;) {
          const words = wordsOf(request.filter.q);
          const { places, facets } = await searchIndex(
            index,
            index.viewOf(partitions),
            { ...request, after },
            words,
            () => undefined,
          );
          const counts = JSON.parse(facets) as Record<string, Record<string, number>>;
          expect(Object.values(counts['type'] ?? {}).reduce((sum, count) => sum + count, 0)).toBe(
            expected.length,
          );
          expect(counts['tag']?.['git'] ?? 0).toBe(
            expected.filter(({ tags }) => tags.includes('git')).length,
          );
          paged.push(...places.slice(0, limit));
          if (places.length <= limit) break;
          after = paged.at(-1) ?? null;
        }
        expect(paged).toEqual(expected.map(placed));
      }
    },
  );

  it.each(Array.from({ length: 30 }, (_, seed) => seed))(
    'finds the names of a list with a search text (%i)',
    async (seed) => {
      const roll = dice(seed);
      const index = new EntryIndex();
      const stored = new Map<string, IndexedSummary>();
      for (let round = 0; round < 10; round += 1) {
        const changed = Array.from({ length: 8 }, () => aSummary(roll));
        const distinct = [...new Map(changed.map((summary) => [keyOf(summary), summary])).values()];
        await index.apply(distinct.map((summary) => ({ ...summary, summary })));
        for (const summary of distinct) stored.set(keyOf(summary), summary);
        const partitions: Partitions = [1, 2, 3].flatMap((sourceId) =>
          [0, 1, 2].flatMap((number) =>
            roll(3) > 0 ? [[10 * sourceId + number, 1 + ((sourceId + round) % 3)] as const] : [],
          ),
        );
        const type = ENTRY_TYPE_NAMES[roll(3)] ?? 'server';
        const texts = ['git', 't', 'x git', 'git x', 't x', 'it g', ' git', 'git ', 'für x git', 'absent'];
        const search = [...texts, 'absent at first', 'io.a/git', '倉庫', 'i̇stanbul', ' x '][roll(15)] ?? '';
        const limit = 1 + roll(3);
        const names: string[] = [];
        for (let isLast = false; !isLast;) {
          const name = names.at(-1) ?? null;
          const part = { type, search, name, isAfter: true, limit };
          const next = await listIndex(index, index.viewOf(partitions), part, () => undefined);
          names.push(...next.names);
          isLast = next.isLast;
        }
        // White space may differ, and a phrase may begin in one text and end in the next.
        const joined = (text: string) => text.trim().replaceAll(/\s+/gu, ' ');
        const namesOf = (has: (texts: readonly string[]) => boolean) =>
          firstOf([...stored.values()], partitions)
            .filter((entry) => entry.type === type)
            .filter(({ name, title, description, otherTexts }) => {
              const own = [name, title, description]
                .filter((text) => text !== null)
                .join('\n')
                .toLowerCase();
              return has([own, ...(otherTexts ?? [search])]);
            })
            .map(({ name }) => name);
        const listed = namesOf((texts) => texts.some((text) => text.includes(search)));
        const mayBe = namesOf((texts) => joined(texts.join(' ')).includes(joined(search)));
        expect(names).toEqual(expect.arrayContaining(listed));
        expect(mayBe).toEqual(expect.arrayContaining(names));
        expect(names).toEqual([...names].sort());
      }
    },
  );

  it('counts the 20 largest values of a facet, then bytewise', async () => {
    const index = new EntryIndex();
    const base = { ...aSummary(dice(1)), status: 'active', partitionId: 10, sourceId: 1 } as const;
    const tagged = Array.from({ length: 25 }, (_, number) => ({
      ...base,
      name: `io.a/${number}`,
      tags: [`tag-${String(number).padStart(2, '0')}`, ...(number > 20 ? ['often'] : []), '2024'],
    }));
    await load(index, tagged);
    const request = { filter: {}, sort: 'name', limit: 1, after: null } as const;
    const { facets } = await searchIndex(index, index.viewOf([[10, 1]]), request, [], () => undefined);
    const ordered = /"tag":\{([^}]*)\}/u.exec(facets)?.[1]?.split(',') ?? [];
    expect(ordered.slice(0, 3)).toEqual(['"2024":25', '"often":4', '"tag-00":1']);
    expect(ordered).toHaveLength(20);
  });

  it('lets other requests go on while it counts hundreds of thousands of different tags', async () => {
    const index = new EntryIndex();
    const base = { ...aSummary(dice(1)), status: 'active', partitionId: 10, sourceId: 1 } as const;
    for (let number = 0; number < 40; number += 1) {
      const tags = Array.from({ length: 10_000 }, (_, tag) => `${number}-${tag}`);
      await load(index, [{ ...base, name: `io.a/${number}`, tags }]);
    }
    const request = { filter: {}, sort: 'name', limit: 1, after: null } as const;
    const share = await largestShareOfOneTurn(async () => {
      const { facets } = await searchIndex(index, index.viewOf([[10, 1]]), request, [], () => undefined);
      expect(facets).toContain('"0-0":1,"0-1":1,"0-10":1,"0-100":1');
    });
    expect(share).toBeLessThan(A_TURN);
  });

  it('compares long tags without copying them for each other tag', async () => {
    const base = { ...aSummary(dice(1)), status: 'active', partitionId: 10, sourceId: 1 } as const;
    const many = Array.from({ length: 20_000 }, (_, tag) => `b${tag}`);
    const request = { filter: {}, sort: 'name', limit: 1, after: null } as const;
    /** CPU time of a search beside 20 tags of this length. */
    const timeBeside = async (length: number) => {
      const index = new EntryIndex();
      for (let number = 0; number < 20; number += 1)
        await load(index, [
          { ...base, name: `io.a/${number}`, tags: [`${'a'.repeat(length)}${10 + number}`] },
        ]);
      await load(index, [{ ...base, name: 'io.a/many', tags: many }]);
      const before = process.cpuUsage();
      const { facets } = await searchIndex(index, index.viewOf([[10, 1]]), request, [], () => undefined);
      const { user, system } = process.cpuUsage(before);
      expect(facets.match(/"a{10,}\d\d":1/g)).toHaveLength(20);
      return user + system;
    };
    // The first also compiles.
    await timeBeside(10);
    const short = await timeBeside(10);
    const long = await timeBeside(60_000);
    expect(long).toBeLessThan(10 * short);
  });

  it('lets other requests go on while many entries are placed, reordered and removed', async () => {
    const index = new EntryIndex();
    const base = { ...aSummary(dice(1)), title: null, description: null, tags: [], transports: [] };
    const named = (sourceId: number, first: number) =>
      Array.from({ length: inSoak(500_000, 50_000) }, (_, number) => {
        const name = `io.acme/${String(2 * number + first).padStart(9, '0')}`;
        return index.append({ ...base, name, sourceId, partitionId: 10 * sourceId });
      });
    await index.place(named(1, 0));
    const more = named(2, 1);
    const share = await largestShareOfOneTurn(async () => {
      await index.place(more);
      await index.compact();
      await index.retain(new Set([2]));
    });
    expect(index.nameAt(index.size - 1)).toBe(`io.acme/${String(2 * more.length - 1).padStart(9, '0')}`);
    expect(share).toBeLessThan(A_TURN);
  });
});
