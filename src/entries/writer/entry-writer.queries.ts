import type { EntityManager } from 'typeorm';
import { columnArrays, copyRows } from '../../database/bulk.js';
import type { EntryName, EntryType } from '../../documents/entry-types.js';
import { type EntryRow, NEXT_REVISION } from '../../entry-store/entry-rows.queries.js';
import type { VersionColumns } from '../../entry-store/entry.entity.js';

/** A version to add to an existing entry. */
export interface NewVersionRow extends VersionColumns {
  readonly entryId: string;
  readonly document: Buffer;
  readonly isLatest: boolean;
  /** JSON: see `EntryVersion`. */
  readonly summary: string | null;
}

/**
 * Sets the claim sets of entries in a source.
 *
 * @returns the ids of changed entries.
 */
export async function updateClaimSets(
  manager: EntityManager,
  sourceId: number,
  rows: readonly EntryRow[],
): Promise<string[]> {
  const [updated] = await manager.query<[{ id: string }[], number]>(
    `update entry e set claim_set_id = n.claim_set_id, revision = ${NEXT_REVISION}
     from unnest($2::text[], $3::text[], $4::int[]) as n(type, name, claim_set_id)
     where e.source_id = $1 and e.type = n.type and e.name = n.name and e.claim_set_id <> n.claim_set_id
     returning e.id`,
    [sourceId, ...columnArrays(rows, 'type', 'name', 'claimSetId')],
  );
  return updated.map(({ id }) => id);
}

export async function findEntries(
  manager: EntityManager,
  sourceId: number,
  names: readonly EntryName[],
): Promise<(EntryName & { readonly id: string })[]> {
  return manager.query<{ id: string; type: EntryType; name: string }[]>(
    `select e.id, e.type, e.name
     from unnest($2::text[], $3::text[]) as n(type, name)
     join entry e on e.source_id = $1 and e.type = n.type and e.name = n.name`,
    [sourceId, ...columnArrays(names, 'type', 'name')],
  );
}

export async function insertVersions(manager: EntityManager, rows: Iterable<NewVersionRow>): Promise<void> {
  await copyRows(
    manager,
    `copy entry_version (entry_id, version, version_key, document, digest, search, status, status_message,
       status_changed_at, published_at, updated_at, is_latest, summary) from stdin`,
    copied(rows),
  );
}

function* copied(rows: Iterable<NewVersionRow>) {
  for (const row of rows)
    yield [
      ...[
        row.entryId,
        row.version,
        row.versionKey,
        row.document.toString(),
        row.digest,
        row.search,
        row.status,
      ],
      ...[row.statusMessage, row.statusChangedAt, row.publishedAt, row.updatedAt, row.isLatest, row.summary],
    ];
}
