import { createHash } from 'node:crypto';
import type { EntityManager } from 'typeorm';
import { entryMapKey, type IncomingVersion } from '../documents/incoming-version.js';
import { batches } from './writer/catalog-diff.js';

/** Stands between the grams of a text; a gram that holds it is left out. The function `search_grams` of the database does the same. */
const SEPARATOR = '\u0001';
/** Looking more of them up costs more than the entries that have all of these and not the text. */
const MAX_ASKED = 6;

/**
 * The letters of a text and every two that follow each other, each once: what its index finds it by. Letters are code points, and
 * white space and punctuation are letters too, so that there is no text that an index of them can't look for.
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
 * Grams that every text has which holds this one: its pairs, of a long text some that lie evenly in it, or its only letter. Null when
 * the index knows none of them.
 */
export function gramsToFind(search: string): string | null {
  const letters = [...search];
  const pairs = letters.slice(1).map((letter, index) => `${letters[index] ?? ''}${letter}`);
  const known = withoutSeparator([...new Set(pairs.length > 0 ? pairs : letters)]);
  const step = Math.max(1, known.length / MAX_ASKED);
  const asked = known.filter((_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step));
  return asked.length > 0 ? joined(asked) : null;
}

function withoutSeparator(grams: readonly string[]): string[] {
  return grams.filter((gram) => !gram.includes(SEPARATOR));
}

function joined(grams: readonly string[]): string {
  return withoutSeparator(grams).join(SEPARATOR);
}

/** So many are taken apart before others have a turn of the event loop. */
const TEXTS_A_TURN = 200;

/**
 * Writes down what a search finds these versions of a source by, before the versions themselves: a trigger would do it with
 * them, and take its time over each text.
 */
export async function insertSearchTexts(
  manager: EntityManager,
  sourceId: number,
  versions: readonly IncomingVersion[],
): Promise<void> {
  // Most versions of an entry have the same text.
  const texts = [
    ...new Map(
      versions.map((version) => [`${entryMapKey(version)}\0${version.searchText}`, version]),
    ).values(),
  ];
  const grams: string[] = [];
  for await (const batch of batches(texts, TEXTS_A_TURN))
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
