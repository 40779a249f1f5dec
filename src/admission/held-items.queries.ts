import type { EntityManager } from 'typeorm';
import type { Publisher } from '../audit/audit-event.js';
import type { Claims } from '../claims/claims.js';
import type { EntryName, IncomingVersion, VersionName } from '../documents/entry-types.js';
import { versionKey } from '../documents/versions.js';
import type { HoldReason, ItemChange } from '../entries/admission-gate.js';
import { batches, weighedBatches } from '../entries/writer/catalog-diff.js';
import { MANAGED_KIND } from '../source-kinds/kinds.js';
import { dueAtOf } from './curation.js';

/** Rows per statement, and bytes of their documents. */
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
  readonly isRejectedByPerson: boolean;
  /** The admission webhooks that have been asked about the document. */
  readonly asked: readonly string[];
  /** The columns that a sync may update, as one text to compare. */
  readonly state: string;
}

/** A version to hold. */
export interface NewItem {
  readonly id: string;
  readonly version: IncomingVersion;
  readonly reasons: readonly HoldReason[];
  readonly firstSeenAt: Date;
  /** Null: the claims of the source. */
  readonly claims: Claims | null;
}

export interface ItemPublisher {
  readonly publisher: Publisher | null;
  readonly key: Buffer | null;
}

const STATE = `concat_ws('|', i.version_key, i.version_status, i.status_message,
  (extract(epoch from i.status_changed_at) * 1000)::bigint, (extract(epoch from i.published_at) * 1000)::bigint,
  i.is_upstream_latest)`;

/** SQL: the admission webhooks that have been asked about an item. */
export const ASKED = `array(select q.webhook from admission_question q where q.item_id = i.id)`;

/** Returns the held and rejected versions of a source. Requires a transaction, because it uses a cursor. */
export async function heldVersions(manager: EntityManager, sourceId: number): Promise<HeldVersion[]> {
  const select = (status: string) =>
    `select i.id, i.status, i.type, i.name, i.version, i.digest, i.first_seen_at as "firstSeenAt", i.reasons,
       i.is_approved as "isApproved", ${STATE} as state, ${ASKED} as asked,
       exists (select 1 from admission_decision d where d.item_id = i.id and d.decision = 'reject') as "isRejectedByPerson"
     from admission_item i where i.source_id = $1 and i.status = '${status}' and i.change is null`;
  await manager.query(
    `declare held_version no scroll cursor for ${select('held')} union all ${select('rejected')}`,
    [sourceId],
  );
  const versions: HeldVersion[] = [];
  let rows: HeldVersion[];
  do {
    rows = await manager.query<HeldVersion[]>(`fetch ${BATCH} from held_version`);
    versions.push(...rows);
  } while (rows.length === BATCH);
  await manager.query(`close held_version`);
  return versions;
}

/** Returns the state of a version in the form of `HeldVersion.state`. */
export function stateOf(version: IncomingVersion, firstSeenAt: Date): string {
  const { status, statusMessage, statusChangedAt, publishedAt, isUpstreamLatest = false } = version;
  return [
    keyOf(version, firstSeenAt),
    status,
    statusMessage,
    statusChangedAt?.getTime(),
    publishedAt?.getTime(),
    isUpstreamLatest ? 't' : 'f',
  ]
    .filter((part) => part !== undefined)
    .join('|');
}

function keyOf({ version, publishedAt, isUpstreamLatest }: IncomingVersion, firstSeenAt: Date): string {
  return versionKey(version, publishedAt ?? firstSeenAt, isUpstreamLatest);
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
    const versions = batch.map(({ version }) => version);
    await manager.query(
      `insert into admission_item (source_id, status, publisher, publisher_key, id, type, name, version, reasons, digest,
         first_seen_at, due_at, claims, document, version_key, search, version_status, status_message, status_changed_at,
         published_at, is_upstream_latest)
       select $1::int, 'held', $2::jsonb, $3::bytea, n.*
       from unnest($4::uuid[], $5::text[], $6::text[], $7::text[], $8::jsonb[], $9::bytea[], $10::timestamptz[],
         $11::timestamptz[], $12::jsonb[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[],
         $18::timestamptz[], $19::timestamptz[], $20::boolean[]) as n`,
      [
        sourceId,
        publisher && JSON.stringify(publisher),
        key,
        batch.map(({ id }) => id),
        versions.map(({ type }) => type),
        versions.map(({ name }) => name),
        versions.map(({ version }) => version),
        batch.map(({ reasons }) => JSON.stringify(reasons)),
        versions.map(({ digest }) => digest),
        batch.map(({ firstSeenAt }) => firstSeenAt),
        batch.map(({ reasons }) => dueAtOf(reasons)),
        batch.map(({ claims }) => claims && JSON.stringify(claims)),
        versions.map(({ document }) => document.toString()),
        batch.map(({ version, firstSeenAt }) => keyOf(version, firstSeenAt)),
        versions.map(({ searchText }) => searchText),
        versions.map(({ status }) => status),
        versions.map(({ statusMessage }) => statusMessage ?? null),
        versions.map(({ statusChangedAt }) => statusChangedAt ?? null),
        versions.map(({ publishedAt }) => publishedAt ?? null),
        versions.map(({ isUpstreamLatest }) => isUpstreamLatest ?? false),
      ],
    );
  }
}

/** Updates what a sync says about versions that stay held. */
export async function updateItems(manager: EntityManager, items: readonly NewItem[]): Promise<void> {
  for await (const batch of batches(items, BATCH)) {
    const versions = batch.map(({ version }) => version);
    await manager.query(
      `update admission_item i set reasons = n.reasons, due_at = n.due_at, version_key = n.version_key,
         version_status = n.version_status, status_message = n.status_message, status_changed_at = n.status_changed_at,
         published_at = n.published_at, is_upstream_latest = n.is_upstream_latest
       from unnest($1::uuid[], $2::jsonb[], $3::timestamptz[], $4::text[], $5::text[], $6::text[], $7::timestamptz[],
         $8::timestamptz[], $9::boolean[])
         as n(id, reasons, due_at, version_key, version_status, status_message, status_changed_at, published_at,
           is_upstream_latest)
       where i.id = n.id`,
      [
        batch.map(({ id }) => id),
        batch.map(({ reasons }) => JSON.stringify(reasons)),
        batch.map(({ reasons }) => dueAtOf(reasons)),
        batch.map(({ version, firstSeenAt }) => keyOf(version, firstSeenAt)),
        versions.map(({ status }) => status),
        versions.map(({ statusMessage }) => statusMessage ?? null),
        versions.map(({ statusChangedAt }) => statusChangedAt ?? null),
        versions.map(({ publishedAt }) => publishedAt ?? null),
        versions.map(({ isUpstreamLatest }) => isUpstreamLatest ?? false),
      ],
    );
  }
}

/** Sets the reasons of held items. */
export async function setReasons(
  manager: EntityManager,
  items: readonly { readonly id: string; readonly reasons: readonly HoldReason[] }[],
): Promise<void> {
  for await (const batch of batches(items, BATCH))
    await manager.query(
      `update admission_item i set reasons = n.reasons, due_at = n.due_at
       from unnest($1::uuid[], $2::jsonb[], $3::timestamptz[]) as n(id, reasons, due_at) where i.id = n.id`,
      [
        batch.map(({ id }) => id),
        batch.map(({ reasons }) => JSON.stringify(reasons)),
        batch.map(({ reasons }) => dueAtOf(reasons)),
      ],
    );
}

/** Removes items of versions that their source no longer has, or shows with another document. */
export async function deleteItems(manager: EntityManager, ids: readonly string[]): Promise<void> {
  for await (const batch of batches(ids, BATCH))
    await manager.query(`delete from admission_item where id = any($1::uuid[])`, [batch]);
}

/** Ends items whose versions a sync stores itself. */
export async function markAdmitted(manager: EntityManager, ids: readonly string[], now: Date): Promise<void> {
  for await (const batch of batches(ids, BATCH))
    await manager.query(
      `update admission_item set status = 'admitted', decided_at = $2, due_at = null, document = null, search = null
       where id = any($1::uuid[])`,
      [batch, now],
    );
}

/** Returns how many versions of each source are held. */
export async function countHeld(
  manager: EntityManager,
  sourceIds: readonly number[],
): Promise<{ readonly sourceId: number; readonly held: number }[]> {
  return manager.query(
    `select s.id as "sourceId", (select count(*)::int from admission_item i
       where i.source_id = s.id and i.status = 'held' and i.change is null) as held
     from unnest($1::int[]) as s(id)`,
    [sourceIds],
  );
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
  return manager.query(
    `select version, claims, octet_length(document) as bytes, publisher_key as "publisherKey" from admission_item
     where source_id = (select id from source where kind = '${MANAGED_KIND}')
       and type = $1 and name = $2 and status = 'held' and change is null order by created_at`,
    [type, name],
  );
}

/** Gives what is held of an entry the claims that the entry has now, which decide who reviews it. */
export async function relabelItems(
  manager: EntityManager,
  sourceId: number,
  { type, name }: EntryName,
  claims: Claims,
): Promise<void> {
  await manager.query(
    `update admission_item set claims = $4 where source_id = $1 and type = $2 and name = $3 and status = 'held'`,
    [sourceId, type, name, JSON.stringify(claims)],
  );
}

/** Counts what a person published or changed that waits for a decision. */
export async function countHeldBy(manager: EntityManager, key: Buffer | null): Promise<number> {
  const [row] = await manager.query<{ count: number }[]>(
    `select count(*)::int as count from admission_item where publisher_key = $1 and status = 'held' and not is_approved`,
    [key],
  );
  return row?.count ?? 0;
}

/** A change to hold. */
export interface NewChange extends EntryName {
  readonly version: string | null;
  readonly reasons: readonly HoldReason[];
  readonly digest: Buffer;
  readonly claims: Claims;
  readonly change: ItemChange;
  readonly by: ItemPublisher;
}

/** @throws QueryFailedError if another change of the entry is held. */
export async function insertChange(
  manager: EntityManager,
  sourceId: number,
  { type, name, version, reasons, digest, claims, change, by }: NewChange,
): Promise<string> {
  const [row] = await manager.query<{ id: string }[]>(
    `insert into admission_item (id, source_id, type, name, version, status, reasons, digest, first_seen_at, claims,
       publisher, publisher_key, change)
     values (gen_random_uuid(), $1, $2, $3, $4, 'held', $5, $6, now(), $7, $8, $9, $10) returning id`,
    [
      sourceId,
      type,
      name,
      version,
      JSON.stringify(reasons),
      digest,
      JSON.stringify(claims),
      by.publisher && JSON.stringify(by.publisher),
      by.key,
      JSON.stringify(change),
    ],
  );
  if (!row) throw new Error('A held change was not stored');
  return row.id;
}

export interface WithdrawnChange {
  readonly version: string | null;
  readonly claims: Claims;
  readonly change: ItemChange;
}

/** Withdraws the changes of an entry, or of one of its versions, that are held. */
export async function withdrawChanges(
  manager: EntityManager,
  sourceId: number,
  { type, name }: EntryName,
  version: string | null,
): Promise<WithdrawnChange[]> {
  const [rows] = await manager.query<[WithdrawnChange[], number]>(
    `update admission_item set status = 'withdrawn', decided_at = now()
     where source_id = $1 and type = $2 and name = $3 and status = 'held' and change is not null
       and ($4::text is null or version = $4)
     returning version, claims, change`,
    [sourceId, type, name, version],
  );
  return rows;
}
