import { Any, type EntityManager } from 'typeorm';
import { isOneOf } from '../database/statements.js';
import { ENTRY_TYPES } from '../documents/entry-types.js';
import { LATEST_STATUSES, type Status } from '../documents/statuses.js';
import { writeStatusInDocuments } from './entry-documents.queries.js';
import { type Entry, EntryVersion } from './entry.entity.js';

/** The status to set. */
export interface NewStatus {
  readonly status: Status;
  readonly message: string | null;
  readonly now: Date;
}

/**
 * Sets the status of one version of an entry, or of all, also in documents that contain it. Skips versions that already
 * have this status and message.
 *
 * @param version null for all versions.
 */
export async function updateStatus(
  manager: EntityManager,
  { id, type }: Pick<Entry, 'id' | 'type'>,
  version: string | null,
  { status, message, now }: NewStatus,
): Promise<void> {
  if (ENTRY_TYPES[type].hasStatusInDocument)
    await writeStatusInDocuments(manager, { id, type }, version, status);
  const statusChangedAt = () => 'case when status = :status then status_changed_at else :now end';
  await manager
    .createQueryBuilder()
    .update(EntryVersion)
    .set({ status, statusMessage: message, updatedAt: now, statusChangedAt })
    .where({ entryId: id, ...(version === null ? {} : { version }) })
    .andWhere('(status <> :status or status_message is distinct from :message)', { status, message, now })
    .execute();
}

/**
 * Elects the latest version of each entry: the newest one with a status that is eligible to be latest, otherwise the
 * newest one. Must run in the transaction that changed the versions.
 *
 * @returns the ids of the versions that became latest.
 */
export async function electLatest(
  manager: EntityManager,
  entryIds: readonly string[],
): Promise<ReadonlySet<string>> {
  // Two statements, because PostgreSQL checks the unique index on the latest version row by row. `entry_version_order`
  // finds the newest of thousands of versions as cheaply as the newest of two. Removed entries get no latest version.
  // The lateral join looks up each id, even if the planner believes that the table has just become empty.
  const elected = await manager.query<{ id: string }[]>(
    `with elected as materialized (
       select coalesce(
         (select v.id from entry_version v where v.entry_id = e.id and ${isOneOf('v.status', LATEST_STATUSES)}
          order by v.version_key desc limit 1),
         (select v.id from entry_version v where v.entry_id = e.id order by v.version_key desc limit 1)
       ) as id
       from unnest($1::bigint[]) as e(id)
     ), deposed as (
       update entry_version set is_latest = false
       where entry_id = any($1::bigint[]) and is_latest and id not in (select id from elected where id is not null)
     )
     select v.id from elected cross join lateral (
       select id from entry_version where id = elected.id and not is_latest offset 0
     ) v`,
    [entryIds],
  );
  const ids = elected.map(({ id }) => id);
  if (ids.length > 0) await manager.update(EntryVersion, { id: Any(ids) }, { isLatest: true });
  return new Set(ids);
}

/**
 * Returns whether one version precedes another in the election of the latest version. Uses the order of `electLatest`,
 * for entries that are not stored yet.
 */
export function precedes(one: Electable, other: Electable): boolean {
  const mayBeLatest = LATEST_STATUSES.includes(one.status);
  if (mayBeLatest !== LATEST_STATUSES.includes(other.status)) return mayBeLatest;
  // Compares bytes, as the database does: UTF-16 order differs.
  return Buffer.compare(Buffer.from(one.versionKey), Buffer.from(other.versionKey)) > 0;
}

type Electable = Pick<EntryVersion, 'status' | 'versionKey'>;
