import { randomUUID } from 'node:crypto';
import { Any, type EntityManager, IsNull, Not } from 'typeorm';
import type { Publisher } from '../audit/audit-event.js';
import type { Claims } from '../claims/claims.js';
import { insertMany, readInParts, updateMany } from '../database/bulk.js';
import type { EntryName, IncomingVersion, VersionName } from '../documents/entry-types.js';
import { versionKey } from '../documents/versions.js';
import { batches, weighedBatches } from '../limits/batches.js';
import { MANAGED_KIND } from '../source-kinds/kinds.js';
import { Source } from '../sources/source.entity.js';
import { queueHeldContent } from './held-content.queries.js';
import { AdmissionItem } from './admission.entity.js';
import { dueAtOf } from './curation-rules.js';
import type { ItemChange } from './publication.js';
import { CONTENT_MISSING, type HoldReason } from './hold-reason.js';

/** Maximum rows per statement, and maximum bytes of their documents. */
const BATCH = 1_000;
const BATCH_BYTES = 512 * 1024;

/** A held or rejected version of a synced source, without its document. */
export interface HeldVersion extends VersionName {
  readonly id: string;
  readonly status: 'held' | 'rejected';
  readonly digest: Buffer;
  readonly firstSeenAt: Date;
  readonly reasons: readonly HoldReason[];
  readonly isApproved: boolean;
  /** Null if it has the claims of the source. */
  readonly claims: Claims | null;
  readonly isRejectedByPerson: boolean;
  /** The admission webhooks that have been asked about the document. */
  readonly asked: readonly string[];
  /** The digest of its content; null if none is stored. */
  readonly contentTree: Buffer | null;
}

/** A version to hold. */
export interface NewItem {
  readonly id: string;
  readonly version: IncomingVersion;
  readonly reasons: readonly HoldReason[];
  readonly firstSeenAt: Date;
  /** Null if it has the claims of the source. */
  readonly claims: Claims | null;
  /** The content of the version if it is served. */
  readonly contentTree?: Buffer | null;
}

export interface ItemPublisher {
  readonly publisher: Publisher | null;
  readonly key: Buffer | null;
}

/** SQL: whether only blocks hold an item `i`, even if its source dropped it. */
export const ONLY_BLOCKED = `i.status = 'held' and i.change is null and i.reasons @> '[{"policy": "block"}]'
  and not jsonb_path_exists(i.reasons, '$[*] ? (@.policy != "block" && @.policy != "removed")')`;

/** SQL: whether an item is remembered only for deny-lists (`REMOVED`). */
export function isRemovedItem(item: string): string {
  return `${item}.reasons @> '[{"policy": "removed"}]'`;
}

/** SQL: the admission webhooks that have been asked about an item. */
export const ASKED = `array(select q.webhook from admission_question q where q.item_id = i.id)`;

/** Returns the held and rejected versions of a source. Requires a transaction, because it uses a cursor. */
export async function heldVersions(manager: EntityManager, sourceId: number): Promise<HeldVersion[]> {
  const select = (status: string) =>
    `select i.id, i.status, i.type, i.name, i.version, i.digest, i.first_seen_at as "firstSeenAt", i.reasons,
       i.is_approved as "isApproved", i.claims, ${ASKED} as asked, i.content_tree as "contentTree",
       exists (select 1 from admission_decision d where d.item_id = i.id and d.decision = 'reject') as "isRejectedByPerson"
     from admission_item i where i.source_id = $1 and i.status = '${status}' and i.change is null`;
  const versions: HeldVersion[] = [];
  const selects = `${select('held')} union all ${select('rejected')}`;
  for await (const rows of readInParts<HeldVersion>(manager, selects, [sourceId], BATCH))
    versions.push(...rows);
  return versions;
}

/** Holds versions. */
export async function insertItems(
  manager: EntityManager,
  sourceId: number,
  items: readonly NewItem[],
  { publisher, key }: ItemPublisher = { publisher: null, key: null },
): Promise<void> {
  for await (const batch of weighedBatches(
    items,
    BATCH,
    BATCH_BYTES,
    ({ version }) => version.document.length,
  )) {
    const rows = batch.map(({ id, version, reasons, firstSeenAt, claims, contentTree = null }) => ({
      ...{ id, sourceId, status: 'held' as const, publisher, publisherKey: key, firstSeenAt, claims },
      contentTree,
      ...{ type: version.type, name: version.name, version: version.version, digest: version.digest },
      ...{ document: version.document.toString(), search: version.searchText },
      ...syncedColumns({ version, reasons, firstSeenAt }),
    }));
    await insertMany(manager, AdmissionItem, rows);
  }
  await queueHeldContent(manager, items.filter(waitsForContent));
}

function waitsForContent({ reasons }: Pick<NewItem, 'reasons'>): boolean {
  return reasons.includes(CONTENT_MISSING);
}

/** Updates the versions that stay held after a sync, if they have changed. */
export async function updateItems(manager: EntityManager, items: readonly NewItem[]): Promise<void> {
  for await (const batch of batches(items, BATCH))
    await updateMany(
      manager,
      AdmissionItem,
      batch.map((item) => ({ id: item.id, claims: item.claims, ...syncedColumns(item) })),
      'differing',
    );
  await queueHeldContent(manager, items.filter(waitsForContent));
}

/** The columns that a sync may update. */
function syncedColumns({
  version,
  reasons,
  firstSeenAt,
}: Pick<NewItem, 'version' | 'reasons' | 'firstSeenAt'>) {
  return {
    reasons,
    dueAt: dueAtOf(reasons),
    versionKey: versionKey(version.version, version.publishedAt ?? firstSeenAt, version.isUpstreamLatest),
    versionStatus: version.status,
    statusMessage: version.statusMessage ?? null,
    statusChangedAt: version.statusChangedAt ?? null,
    publishedAt: version.publishedAt ?? null,
    isUpstreamLatest: version.isUpstreamLatest ?? false,
  };
}

export async function setReasons(
  manager: EntityManager,
  items: readonly Pick<AdmissionItem, 'id' | 'reasons'>[],
): Promise<void> {
  for await (const batch of batches(items, BATCH))
    await updateMany(
      manager,
      AdmissionItem,
      batch.map(({ id, reasons }) => ({ id, reasons, dueAt: dueAtOf(reasons) })),
    );
}

/** Removes the items of versions that the source no longer has, or has with another document. */
export async function deleteItems(manager: EntityManager, ids: readonly string[]): Promise<void> {
  for await (const batch of batches(ids, BATCH)) await manager.delete(AdmissionItem, { id: Any(batch) });
}

/** Marks items as admitted once their versions are stored. */
export async function markAdmitted(manager: EntityManager, ids: readonly string[], now: Date): Promise<void> {
  const status = 'admitted';
  for await (const batch of batches(ids, BATCH))
    await manager.update(
      AdmissionItem,
      { id: Any(batch) },
      { status, decidedAt: now, dueAt: null, document: null, search: null, contentTree: null },
    );
}

/** Returns how many versions of each source are held. */
export async function countHeld(
  manager: EntityManager,
  sourceIds: readonly number[],
): Promise<{ readonly sourceId: number; readonly held: number }[]> {
  return manager
    .createQueryBuilder(Source, 'source')
    .leftJoin(
      AdmissionItem,
      'item',
      `item.sourceId = source.id and item.status = 'held' and item.change is null and not ${isRemovedItem('item')}`,
    )
    .select('source.id', 'sourceId')
    .addSelect('count(item.id)::int', 'held')
    .where('source.id = any(:sourceIds)', { sourceIds })
    .groupBy('source.id')
    .getRawMany();
}

interface ReservedVersion {
  readonly version: string;
  readonly claims: Claims | null;
  readonly bytes: number;
  readonly publisherKey: Buffer | null;
}

/** Returns the held publications of a name, oldest first. */
export async function heldOfName(
  manager: EntityManager,
  { type, name }: EntryName,
): Promise<ReservedVersion[]> {
  return manager
    .createQueryBuilder(AdmissionItem, 'item')
    .select('item.version', 'version')
    .addSelect('item.claims', 'claims')
    .addSelect('octet_length(item.document)', 'bytes')
    .addSelect('item.publisherKey', 'publisherKey')
    .innerJoin('item.source', 'source', 'source.kind = :kind', { kind: MANAGED_KIND })
    .where({ type, name, status: 'held', change: IsNull() })
    .orderBy('item.createdAt')
    .getRawMany();
}

/** Sets the claims of an entry's held items to the entry's current claims, which decide who reviews them. */
export async function relabelItems(
  manager: EntityManager,
  sourceId: number,
  { type, name }: EntryName,
  claims: Claims,
): Promise<void> {
  await manager.update(AdmissionItem, { sourceId, type, name, status: 'held' }, { claims });
}

/** Counts a person's publications and changes that are waiting for a decision. */
export async function countHeldBy(manager: EntityManager, publisherKey: Buffer | null): Promise<number> {
  if (publisherKey === null) return 0;
  return manager.countBy(AdmissionItem, { publisherKey, status: 'held', isApproved: false });
}

export interface NewChange extends EntryName {
  readonly version: string | null;
  readonly reasons: readonly HoldReason[];
  readonly digest: Buffer;
  readonly claims: Claims;
  readonly change: ItemChange;
  readonly by: ItemPublisher;
}

/** @throws QueryFailedError if another change to the entry is held. */
export async function insertChange(
  manager: EntityManager,
  sourceId: number,
  { type, name, version, reasons, digest, claims, change, by }: NewChange,
): Promise<string> {
  const id = randomUUID();
  await manager.insert(AdmissionItem, {
    ...{ id, sourceId, type, name, version, reasons, digest, claims, change },
    status: 'held',
    firstSeenAt: () => 'now()',
    publisher: by.publisher,
    publisherKey: by.key,
  });
  return id;
}

export interface WithdrawnChange {
  readonly version: string | null;
  readonly claims: Claims;
  readonly change: ItemChange;
}

/** Withdraws the held changes to an entry, or to one of its versions. */
export async function withdrawChanges(
  manager: EntityManager,
  sourceId: number,
  { type, name }: EntryName,
  version: string | null,
): Promise<WithdrawnChange[]> {
  const { raw } = await manager
    .createQueryBuilder()
    .update(AdmissionItem)
    .set({ status: 'withdrawn', decidedAt: () => 'now()' })
    .where({
      ...{ sourceId, type, name, status: 'held', change: Not(IsNull()) },
      ...(version === null ? {} : { version }),
    })
    .returning(['version', 'claims', 'change'])
    .execute();
  return raw as WithdrawnChange[];
}
