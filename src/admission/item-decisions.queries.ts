import type { EntityManager } from 'typeorm';
import type { EntryName } from '../documents/entry-types.js';
import type { HoldReason } from '../entries/admission-gate.js';
import type { Decision, ItemStatus } from './admission.entity.js';
import { type ItemPublisher, setReasons } from './held-items.queries.js';

/** Locks an item, after its source, so that decisions about it happen one after another. */
export async function lockItem(manager: EntityManager, sourceId: number, id: string): Promise<Date> {
  await manager.query(`select id from source where id = $1 for no key update`, [sourceId]);
  await manager.query(`select id from admission_item where id = $1 for update`, [id]);
  const [row] = await manager.query<{ now: Date }[]>(
    `select date_trunc('milliseconds', clock_timestamp()) as now`,
  );
  if (!row) throw new Error('PostgreSQL returned no time');
  return row.now;
}

/** What one person decided or wrote. */
export interface NewDecision {
  readonly decision: Decision;
  readonly comment: string | null;
  readonly at: Date;
  readonly by: ItemPublisher;
}

export async function insertDecision(
  manager: EntityManager,
  itemId: string,
  { decision, comment, at, by }: NewDecision,
): Promise<void> {
  await manager.query(
    `insert into admission_decision (item_id, decision, at, by, by_key, comment) values ($1, $2, $3, $4, $5, $6)`,
    [itemId, decision, at, by.publisher && JSON.stringify(by.publisher), by.key, comment],
  );
}

export async function countDecisions(manager: EntityManager, itemId: string): Promise<number> {
  const [row] = await manager.query<{ count: number }[]>(
    `select count(*)::int as count from admission_decision where item_id = $1`,
    [itemId],
  );
  return row?.count ?? 0;
}

/** Ends an item that is not stored as a version, or has been. */
export async function endItem(
  manager: EntityManager,
  id: string,
  status: Exclude<ItemStatus, 'held'>,
  now: Date,
): Promise<void> {
  await manager.query(
    `update admission_item set status = $2, decided_at = $3, due_at = null,
       is_approved = is_approved or $2 = 'admitted',
       document = case when $2 = 'rejected' then document end where id = $1`,
    [id, status, now],
  );
}

/** Leaves an approved item to the blocks that hold it. */
export async function leaveToBlocks(
  manager: EntityManager,
  id: string,
  reasons: readonly HoldReason[],
): Promise<void> {
  await setReasons(manager, [{ id, reasons }]);
  await manager.query(`update admission_item set is_approved = true where id = $1`, [id]);
}

/** Returns the claim set of an entry. */
export async function claimSetOf(
  manager: EntityManager,
  sourceId: number,
  { type, name }: EntryName,
): Promise<number | undefined> {
  const [entry] = await manager.query<{ claimSetId: number }[]>(
    `select claim_set_id as "claimSetId" from entry where source_id = $1 and type = $2 and name = $3`,
    [sourceId, type, name],
  );
  return entry?.claimSetId;
}
