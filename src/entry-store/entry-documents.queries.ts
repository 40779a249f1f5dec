import type { EntityManager } from 'typeorm';
import { firstRows, type OrderedRows, readFirst, updateMany } from '../database/bulk.js';
import { documentDigest } from '../documents/document-check.js';
import { withStatus } from '../documents/entry-types.js';
import type { Status } from '../documents/statuses.js';
import { type Entry, EntryVersion } from './entry.entity.js';

/*
 * All documents of an entry together may exceed the memory, so they are read in batches.
 */

/** SQL: the ids of the newest versions of `:id` whose documents fit into a batch, but at least one. */
export const NEWEST_IN_BATCH = `select id from (${firstRows(
  'id',
  'octet_length(document)',
  'entry_version where entry_id = :id',
  'version_key desc',
)}) newest`;

const NEXT_BATCH: OrderedRows = {
  columns: 'id, document',
  bytes: 'octet_length(document)',
  from: 'entry_version where entry_id = $1 and id > $2 and ($3::text is null or version = $3) and status <> $4',
  order: 'id',
};

/**
 * Writes a status into the documents of versions that have another one.
 *
 * @param version null for all versions.
 */
export async function writeStatusInDocuments(
  manager: EntityManager,
  { id: entryId, type }: Pick<Entry, 'id' | 'type'>,
  version: string | null,
  status: Status,
): Promise<void> {
  for (let after = '0'; ;) {
    const values = [entryId, after, version, status];
    const rows = await readFirst<{ id: string; document: string }>(manager, NEXT_BATCH, values);
    const last = rows.at(-1);
    if (!last) return;
    const changed = rows.map(({ id, document }) => ({ id, document: withStatus(type, document, status) }));
    await updateMany(
      manager,
      EntryVersion,
      changed.map(({ id, document }) => ({ id, document, digest: documentDigest(document) })),
    );
    after = last.id;
  }
}
