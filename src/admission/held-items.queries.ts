import type { EntityManager } from 'typeorm';
import type { Publisher } from '../audit/audit-event.js';
import type { Claims } from '../claims/claims.js';
import type { Queries } from '../database/statements.js';
import type { EntryName, EntryType, IncomingVersion, VersionName } from '../documents/entry-types.js';
import { versionKey } from '../documents/versions.js';
import type { HoldReason, ItemChange } from '../entries/admission-gate.js';
import { batches, weighedBatches } from '../entries/writer/catalog-diff.js';
import { MANAGED_KIND } from '../source-kinds/kinds.js';
import type { Decision, ItemStatus } from './admission.entity.js';
import { dueAtOf, type StoredAdmission } from './curation.js';

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
       i.is_approved as "isApproved", ${STATE} as state, ${ASKED} as asked
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

export async function countHeld(manager: EntityManager, sourceId: number): Promise<number> {
  const [row] = await manager.query<{ count: number }[]>(
    `select count(*)::int as count from admission_item where source_id = $1 and status = 'held' and change is null`,
    [sourceId],
  );
  return row?.count ?? 0;
}

/** Returns the names that the source has shown before, by `entryMapKey`. */
export async function knownNames(
  manager: EntityManager,
  sourceId: number,
  names: readonly EntryName[],
): Promise<(EntryName & { readonly type: EntryType })[]> {
  const known: EntryName[] = [];
  for await (const batch of batches(names, BATCH))
    known.push(
      ...(await manager.query<EntryName[]>(
        `select n.type, n.name from unnest($2::text[], $3::text[]) as n(type, name)
         where exists (select 1 from known_name k where k.source_id = $1 and k.type = n.type and k.name = n.name)
           or exists (select 1 from entry e where e.source_id = $1 and e.type = n.type and e.name = n.name)`,
        [sourceId, batch.map(({ type }) => type), batch.map(({ name }) => name)],
      )),
    );
  return known;
}

/** Records names that the source has shown. Names must be distinct. */
export async function rememberNames(
  manager: EntityManager,
  sourceId: number,
  names: readonly EntryName[],
): Promise<void> {
  for await (const batch of batches(names, BATCH))
    await manager.query(
      `insert into known_name (source_id, type, name)
       select $1::int, n.type, n.name from unnest($2::text[], $3::text[]) as n(type, name) on conflict do nothing`,
      [sourceId, batch.map(({ type }) => type), batch.map(({ name }) => name)],
    );
}

/** A stored version whose served document differs from what the upstream sent. */
export interface RewrittenVersion extends VersionName {
  /** SHA-256 of the served document. */
  readonly served: Buffer;
}

/** Returns the stored versions of a source that were rewritten. Reads all documents of the source. */
export async function rewrittenVersions(
  manager: EntityManager,
  sourceId: number,
  marker: string,
): Promise<RewrittenVersion[]> {
  return manager.query<RewrittenVersion[]>(
    `select e.type, e.name, v.version, sha256(convert_to(v.document, 'UTF8')) as served
     from entry e join entry_version v on v.entry_id = e.id
     where e.source_id = $1 and position($2 in v.document) > 0`,
    [sourceId, marker],
  );
}

/** A source while a sync writes its content. */
export interface SyncedSource {
  readonly name: string;
  readonly claims: Claims;
  readonly admission: StoredAdmission | null;
  /** Whether no sync has succeeded yet. */
  readonly isFirst: boolean;
  /** Whether this sync is the first with the current settings. */
  readonly isFresh: boolean;
}

export async function sourceOf(manager: EntityManager, sourceId: number): Promise<SyncedSource> {
  const [source] = await manager.query<SyncedSource[]>(
    `select s.name, c.claims, s.admission, y.last_success_at is null as "isFirst", y.fetch_state is null as "isFresh"
     from source s join source_sync y on y.source_id = s.id join claim_set c on c.id = s.claim_set_id where s.id = $1`,
    [sourceId],
  );
  if (!source) throw new Error('A locked source has disappeared');
  return source;
}

interface ReservedVersion {
  readonly version: string;
  readonly claims: Claims | null;
  readonly bytes: number;
  readonly publisherKey: Buffer | null;
}

/** Returns the held publications of a name, oldest first. */
export async function heldOfName(statements: Queries, { type, name }: EntryName): Promise<ReservedVersion[]> {
  return statements.query(
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
