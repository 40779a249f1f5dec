import type { EntityManager } from 'typeorm';
import { currentTime } from '../database/locks.js';
import type { EntryName } from '../documents/entry-types.js';
import { Entry } from '../entry-store/entry.entity.js';
import { lockSource } from '../sources/sources.repository.js';
import { AdmissionDecision, AdmissionItem, type Decision, type ItemStatus } from './admission.entity.js';
import { type ItemPublisher, setReasons } from './held-items.queries.js';
import type { HoldReason } from './hold-reason.js';

/** Locks an item, after its source, to serialize decisions on it. */
export async function lockItem(manager: EntityManager, sourceId: number, id: string): Promise<Date> {
  await lockSource(manager, sourceId).getOne();
  await manager.findOne(AdmissionItem, {
    select: { id: true },
    where: { id },
    lock: { mode: 'pessimistic_write' },
  });
  return currentTime(manager);
}

/** One person's decision or comment. */
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
  await manager.insert(AdmissionDecision, { itemId, decision, at, by: by.publisher, byKey: by.key, comment });
}

export function countDecisions(manager: EntityManager, itemId: string): Promise<number> {
  return manager.countBy(AdmissionDecision, { itemId });
}

/** Closes an item that will not be stored as a version, or already has been. */
export async function endItem(
  manager: EntityManager,
  id: string,
  status: Exclude<ItemStatus, 'held'>,
  now: Date,
): Promise<void> {
  await manager.update(
    AdmissionItem,
    { id },
    {
      ...{ status, decidedAt: now, dueAt: null },
      ...(status === 'admitted' ? { isApproved: true } : {}),
      ...(status === 'rejected' ? {} : { document: null }),
    },
  );
}

/** Marks an item as approved while blocks still hold it. */
export async function leaveToBlocks(
  manager: EntityManager,
  id: string,
  reasons: readonly HoldReason[],
): Promise<void> {
  await setReasons(manager, [{ id, reasons }]);
  await manager.update(AdmissionItem, { id }, { isApproved: true });
}

export async function claimSetOf(
  manager: EntityManager,
  sourceId: number,
  { type, name }: EntryName,
): Promise<number | undefined> {
  const entry = await manager.findOne(Entry, {
    select: { id: true, claimSetId: true },
    where: { sourceId, type, name },
  });
  return entry?.claimSetId;
}
