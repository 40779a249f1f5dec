import { createHash } from 'node:crypto';
import type { DataSource, EntityManager } from 'typeorm';
import { entryMapKey, type IncomingVersion } from '../documents/entry-types.js';
import { TimeSlice } from '../json/time-slice.js';
import type { SearchText } from './search-text.entity.js';
import { batches } from './writer/catalog-diff.js';

/** Separates grams; grams containing it are omitted, as in the database function `search_grams`. */
const SEPARATOR = '\u0001';
/** Maximum number of grams to look up. More lookups would cost more than the false positives that they avoid. */
const MAX_GRAMS = 6;

/**
 * Returns the distinct grams of a text: all single code points and adjacent pairs, including white space and
 * punctuation, so that the index can find any text.
 */
export function gramsOf(text: string): string {
  const grams = new Set<string>();
  let before = '';
  for (const letter of text) {
    grams.add(letter);
    if (before !== '') grams.add(before + letter);
    before = letter;
  }
  return joined([...grams]);
}

/**
 * Returns grams that every match must contain: the pairs of the search text, evenly sampled if it is long, or its only
 * code point. Returns null if the index omits all of them.
 */
export function gramsToFind(search: string): string | null {
  const letters = [...search];
  const pairs = letters.slice(1).map((letter, index) => `${letters[index] ?? ''}${letter}`);
  const indexed = withoutSeparator([...new Set(pairs.length > 0 ? pairs : letters)]);
  const step = Math.max(1, indexed.length / MAX_GRAMS);
  const sampled = indexed.filter((_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step));
  return sampled.length > 0 ? joined(sampled) : null;
}

function withoutSeparator(grams: readonly string[]): string[] {
  return grams.filter((gram) => !gram.includes(SEPARATOR));
}

function joined(grams: readonly string[]): string {
  return withoutSeparator(grams).join(SEPARATOR);
}

/** Texts that get their keys in one transaction. */
const TEXTS_WITHOUT_KEYS = 250;

/**
 * Adds the keys of a batch of texts that triggers stored without grams, as they do for publications. The statement that
 * updates them ends with an empty pending list, which each lookup would read in full (migration 1798320000004).
 *
 * @returns whether the batch was full, so that there may be more.
 */
export async function addSearchKeys(dataSource: DataSource): Promise<boolean> {
  return dataSource.transaction(async (manager) => {
    const texts = await manager.query<Pick<SearchText, 'entryId' | 'digest' | 'content'>[]>(
      `select entry_id as "entryId", digest, content from search_text where grams = ''
       order by entry_id limit ${TEXTS_WITHOUT_KEYS} for update skip locked`,
    );
    if (texts.length === 0) return false;
    const slice = new TimeSlice();
    const grams: string[] = [];
    for (const { content } of texts) {
      await slice.pause();
      grams.push(gramsOf(content));
    }
    await manager.query(
      `update search_text t set grams = n.grams
       from unnest($1::bigint[], $2::bytea[], $3::text[]) as n(entry_id, digest, grams)
       where t.entry_id = n.entry_id and t.digest = n.digest`,
      [texts.map(({ entryId }) => entryId), texts.map(({ digest }) => digest), grams],
    );
    return texts.length === TEXTS_WITHOUT_KEYS;
  });
}

/** Texts processed before yielding to the event loop. */
const TEXTS_PER_BATCH = 200;

/**
 * Inserts the search texts of versions. Call it before writing the versions: otherwise triggers compute the grams,
 * which is slower.
 */
export async function insertSearchTexts(
  manager: EntityManager,
  sourceId: number,
  versions: readonly Pick<IncomingVersion, 'type' | 'name' | 'searchText'>[],
): Promise<void> {
  // Most versions of an entry have the same text.
  const texts = [
    ...new Map(
      versions.map((version) => [`${entryMapKey(version)}\0${version.searchText}`, version]),
    ).values(),
  ];
  const grams: string[] = [];
  for await (const batch of batches(texts, TEXTS_PER_BATCH))
    grams.push(...batch.map(({ searchText }) => gramsOf(searchText)));
  await manager.query(
    `insert into search_text (entry_id, digest, partition_id, type, name, content, grams)
     select e.id, n.digest, p.id, e.type, e.name, n.content, n.grams
     from unnest($2::text[], $3::text[], $4::bytea[], $5::text[], $6::text[]) as n(type, name, digest, content, grams)
     cross join lateral (
       select * from entry e where e.source_id = $1 and e.type = n.type and e.name = n.name offset 0
     ) e
     cross join lateral (
       select p.id from search_partition p
       where p.source_id = e.source_id and p.type = e.type and p.claim_set_id = e.claim_set_id offset 0
     ) p
     on conflict do nothing`,
    [
      sourceId,
      texts.map(({ type }) => type),
      texts.map(({ name }) => name),
      texts.map(({ searchText }) => createHash('sha256').update(searchText).digest()),
      texts.map(({ searchText }) => searchText),
      grams,
    ],
  );
}
