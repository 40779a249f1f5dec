import { createHash } from 'node:crypto';
import type { EntityManager } from 'typeorm';
import { entryMapKey, type IncomingVersion } from '../../documents/incoming-version.js';
import { batches } from '../writer/batches.js';
import { gramsOf } from './search-grams.js';

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
