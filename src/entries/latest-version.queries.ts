import type { EntityManager } from 'typeorm';

// Look-ups in the index of the order: an entry with thousands of versions must not cost more than one with two.
const newest = (condition: string) =>
  `(select v.id from entry_version v where v.entry_id = e.id and ${condition} order by v.version_key desc limit 1)`;
/** `elected`: the ids of the versions that are to be the latest of the entries `$1`; null for an entry that is gone. */
const ELECTED = `with elected as materialized (
    select coalesce(${newest(`v.status <> 'deleted'`)}, ${newest('true')}) as id from unnest($1::bigint[]) as e(id)
  )`;

/**
 * Finds the latest version of entries anew: the newest that is not deleted, and when all are, the newest of them. Runs in
 * the transaction that changed the versions.
 */
export async function electLatest(manager: EntityManager, entryIds: readonly string[]): Promise<void> {
  // Two statements: the index that allows one latest per entry is checked row by row.
  await manager.query(
    `${ELECTED} update entry_version set is_latest = false where entry_id = any($1::bigint[]) and is_latest
       and id not in (select id from elected where id is not null)`,
    [entryIds],
  );
  await manager.query(
    `${ELECTED} update entry_version set is_latest = true where not is_latest and id in (select id from elected)`,
    [entryIds],
  );
}

/**
 * Whether a version comes before another of its entry when the latest is looked for: the same order as `electLatest`'s, for
 * entries that are only being written. The status of a version, and its `version_key`.
 */
export function precedes(one: Electable, other: Electable): boolean {
  const [isOneGone, isOtherGone] = [one.status === 'deleted', other.status === 'deleted'];
  if (isOneGone !== isOtherGone) return isOtherGone;
  // By bytes, as the database does: UTF-16 orders some characters otherwise.
  return Buffer.compare(Buffer.from(one.key), Buffer.from(other.key)) > 0;
}

interface Electable {
  readonly status: string;
  readonly key: string;
}
