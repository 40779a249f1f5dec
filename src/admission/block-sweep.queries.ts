import { Injectable } from '@nestjs/common';
import { type EntityManager, type EntityTarget, In } from 'typeorm';
import { type AuditActor, SYNC_ACTOR } from '../audit/audit-event.js';
import { AuditTrail } from '../audit/audit-trail.js';
import { readInParts } from '../database/bulk.js';
import { enterAdmission } from '../database/locks.js';
import type { EntryType } from '../documents/entry-types.js';
import { EntryVersion } from '../entry-store/entry.entity.js';
import { deleteEmptyEntries, deleteVersions, settleVersions } from '../entry-store/entry-rows.queries.js';
import { TimeSlice } from '../json/time-slice.js';
import { batches } from '../limits/batches.js';
import { KINDS, MANAGED_KIND } from '../source-kinds/kinds.js';
import { Source } from '../sources/source.entity.js';
import { SourceStates } from '../sources/source-states.queries.js';
import { AdmissionItem } from './admission.entity.js';
import { AdmittedItems } from './admitted-items.queries.js';
import type { CompiledBlock } from './block-rule.js';
import { matchingBlocks } from './block-rule.js';
import { blockReasons, Blocks, reasonOf } from './blocks.queries.js';
import { countHeld, setReasons } from './held-items.queries.js';
import { PUBLISHER_KEY } from './reviewers.js';
import { globPattern } from './seen-items.queries.js';
import { MAX_ITEM_EVENTS } from './synced-admission.js';
import type { ConsideredBlocks } from './synced-content.js';
import type { HoldReason } from './verdict.js';

/** Rows read at once, without and with documents; and rows moved by one statement. */
const ROWS_PER_READ = 1_000;
const DOCUMENTS_PER_READ = 100;
/** Longer documents, of up to 1 MiB, are read one by one. */
const MAX_READ_TOGETHER = 64 * 1_024;
const ROWS_PER_STATEMENT = 2_000;

interface ScannedRow {
  readonly id: string;
  readonly type: EntryType;
  readonly name: string;
  readonly version: string;
  readonly digest: Buffer;
  readonly document: string | null;
}

interface ServedRow extends ScannedRow {
  readonly entryId: string;
  readonly sourceId: number;
}

/** A served version that is being held; there may be a million. */
interface MovingVersion {
  readonly id: string;
  readonly entryId: string;
  readonly sourceId: number;
}

interface ItemRow extends ScannedRow {
  readonly sourceId: number;
  readonly reasons: readonly HoldReason[];
}

/**
 * Applies changed blocks to what sources have stored: moves matching versions to the held items, and admits held items that
 * nothing else holds. Runs in the caller's transaction, which has locked the rows of the sources.
 */
@Injectable()
export class BlockSweep {
  constructor(
    private readonly blocks: Blocks,
    private readonly admitted: AdmittedItems,
    private readonly states: SourceStates,
    private readonly audit: AuditTrail,
  ) {}

  /** Applies a changed block to published entries, after `closeAdmission`. */
  async applyToPublished(manager: EntityManager, id: string): Promise<void> {
    const sources = await manager.find(Source, {
      select: { id: true },
      where: { kind: MANAGED_KIND },
      lock: { mode: 'for_no_key_update' },
    });
    const block = (await this.blocks.inForce(manager)).find((one) => one.id === id) ?? null;
    await this.apply(
      manager,
      sources.map((source) => source.id),
      id,
      block,
    );
  }

  /** @param block null if the block with this id is removed. */
  async apply(
    manager: EntityManager,
    sourceIds: readonly number[],
    id: string,
    block: CompiledBlock | null,
  ): Promise<void> {
    await this.sweepItems(manager, sourceIds, id, block);
    if (block) await this.holdServed(manager, sourceIds, block);
    await this.states.recount(manager, await countHeld(manager, sourceIds));
  }

  /**
   * Applies the blocks that changed after those considered were read, and keeps them from changing until the transaction ends.
   * Whatever stores versions of synced sources calls it last: a block is written either after the commit, and then applied to
   * what was committed, or before, and then found here.
   */
  async settle(
    manager: EntityManager,
    sourceIds: readonly number[],
    considered: ConsideredBlocks,
  ): Promise<void> {
    // Changes of blocks wait for the lock, so most of the work comes before it.
    const known = await this.applyChanged(manager, sourceIds, considered);
    await enterAdmission(manager);
    await this.applyChanged(manager, sourceIds, known);
  }

  private async applyChanged(
    manager: EntityManager,
    sourceIds: readonly number[],
    considered: ConsideredBlocks,
  ): Promise<ConsideredBlocks> {
    const inForce = await this.blocks.inForce(manager);
    const before = new Map(considered.map(({ id, revision }) => [id, revision]));
    const after = new Map(inForce.map((block) => [block.id, block]));
    for (const id of new Set([...before.keys(), ...after.keys()])) {
      const block = after.get(id);
      if (before.get(id) !== block?.revision) await this.apply(manager, sourceIds, id, block ?? null);
    }
    return inForce;
  }

  /** Returns the ids of the sources that a changed block holds or held something of. Takes no locks. */
  async affectedSources(manager: EntityManager, id: string, block: CompiledBlock | null): Promise<number[]> {
    const affected = new Set<number>();
    const had = await manager
      .createQueryBuilder(AdmissionItem, 'item')
      .select('item.sourceId', 'sourceId')
      .distinct()
      .where(`item.status = 'held' and item.change is null and item.reasons @> '[{"policy": "block"}]'`)
      .andWhere('item.reasons @> :reason', { reason: JSON.stringify([{ block: id }]) })
      .getRawMany<{ sourceId: number }>();
    for (const { sourceId } of had) affected.add(sourceId);
    if (block)
      for (const scanned of [scanServed(manager, block, null), scanItems(manager, block, null)])
        for await (const rows of scanned) for (const { sourceId } of rows) affected.add(sourceId);
    return [...affected];
  }

  /** Counts the served versions that a block would hold. Needs a transaction, and takes no locks. */
  async count(manager: EntityManager, block: CompiledBlock): Promise<number> {
    let count = 0;
    for await (const rows of scanServed(manager, block, null)) count += rows.length;
    return count;
  }

  private async holdServed(
    manager: EntityManager,
    among: readonly number[],
    block: CompiledBlock,
  ): Promise<void> {
    const found: MovingVersion[] = [];
    const audited: ServedRow[] = [];
    for await (const rows of scanServed(manager, block, among)) {
      found.push(...rows.map(({ id, entryId, sourceId }) => ({ id, entryId, sourceId })));
      const left = MAX_ITEM_EVENTS - audited.length;
      audited.push(...rows.slice(0, left).map((row) => ({ ...row, document: null })));
    }
    const sourceIds = [...new Set(found.map(({ sourceId }) => sourceId))].sort((one, other) => one - other);
    const sources = await manager.find(Source, {
      select: { id: true, name: true, kind: true },
      where: { id: In(sourceIds) },
    });
    const nameOf = new Map(sources.map(({ id, name }) => [id, name]));
    const inheriting = sources.filter(({ kind }) => KINDS[kind].inheritsClaims).map(({ id }) => id);
    for await (const batch of batches(found, ROWS_PER_STATEMENT))
      await moveToItems(manager, batch, inheriting, reasonOf(block));
    // After all versions: an entry's may be in several batches.
    for (const id of sourceIds) {
      const entryIds = new Set(found.flatMap(({ entryId, sourceId }) => (sourceId === id ? [entryId] : [])));
      for await (const batch of batches([...entryIds], ROWS_PER_STATEMENT)) await settle(manager, id, batch);
    }
    await this.recordItems(manager, SYNC_ACTOR, 'admission.hold', audited, nameOf);
  }

  /** Adds the reason to held items that match, and removes it from the others. */
  private async sweepItems(
    manager: EntityManager,
    among: readonly number[],
    id: string,
    block: CompiledBlock | null,
  ): Promise<void> {
    const freed: ItemRow[] = [];
    const update = async (items: readonly ItemRow[]) => {
      // An admitted item keeps its reasons.
      await setReasons(
        manager,
        items.filter(({ reasons }) => reasons.length > 0),
      );
      freed.push(...items.filter(({ reasons }) => reasons.length === 0));
    };
    const has = ({ reasons }: ItemRow) => reasons.some((reason) => reason.block === id);
    const without = ({ reasons }: ItemRow) => reasons.filter((reason) => reason.block !== id);
    const held = selectItems(block, `reasons @> $2::jsonb`);
    for await (const rows of scan<ItemRow>(manager, held, [among, JSON.stringify([{ block: id }])], null)) {
      const stay = new Set(block ? await matching(manager, AdmissionItem, block, rows) : []);
      await update(
        rows
          .filter((row) => !stay.has(row))
          .map((row) => ({ ...row, reasons: without(row), document: null })),
      );
      if (block)
        await update(
          [...stay].map((row) => ({ ...row, reasons: [...without(row), reasonOf(block)], document: null })),
        );
    }
    if (block)
      for await (const rows of scanItems(manager, block, among))
        await update(
          rows
            .filter((row) => !has(row))
            .map((row) => ({ ...row, reasons: [...row.reasons, reasonOf(block)], document: null })),
        );
    await this.restore(manager, freed);
  }

  /** Admits items that nothing holds any more. */
  private async restore(manager: EntityManager, freed: readonly ItemRow[]): Promise<void> {
    // Another block may be in force that has not been applied to their sources yet.
    const blocked = await blockReasons(
      manager,
      await this.blocks.inForce(manager),
      freed.map(({ id }) => id),
    );
    await setReasons(
      manager,
      [...blocked].map(([id, reasons]) => ({ id, reasons })),
    );
    const items = freed.filter(({ id }) => !blocked.has(id));
    const bySource = new Map<number, ItemRow[]>();
    for (const item of items) {
      const ofSource = bySource.get(item.sourceId) ?? [];
      ofSource.push(item);
      bySource.set(item.sourceId, ofSource);
    }
    await this.admitted.addClaimSets(
      manager,
      items.map(({ id }) => id),
    );
    const sources = await manager.find(Source, {
      select: { id: true, name: true },
      where: { id: In([...bySource.keys()]) },
      order: { id: 'ASC' },
    });
    for (const { id } of sources)
      await this.admitted.admit(
        manager,
        id,
        (bySource.get(id) ?? []).map((item) => item.id),
      );
    const nameOf = new Map(sources.map(({ id, name }) => [id, name]));
    await this.recordItems(manager, SYNC_ACTOR, 'admission.admit', items, nameOf);
  }

  private async recordItems(
    manager: EntityManager,
    actor: AuditActor,
    action: 'admission.hold' | 'admission.admit',
    items: readonly (ServedRow | ItemRow)[],
    nameOf: ReadonlyMap<number, string>,
  ): Promise<void> {
    await this.audit.writeItems(
      manager,
      actor,
      items.slice(0, MAX_ITEM_EVENTS).map(({ type, name, version, sourceId, digest }) => ({
        action,
        target: { type, name, version, source: nameOf.get(sourceId) ?? '' },
        // Only super-admins see blocks and what they hold.
        role: 'superAdmin' as const,
        claims: [],
        change: { after: { sha256: digest.toString('hex') } },
      })),
    );
  }
}

/** SQL expression: the document, or null if it is long. */
const shortDocument = (column: string) =>
  `case when octet_length(${column}) <= ${MAX_READ_TOGETHER} then ${column} end`;

type Table = EntityTarget<{ id: string; document: string | null }>;

/** Returns the rows that a block matches. Publishers decide how much there is to parse, so it pauses between rows. */
async function matching<Row extends ScannedRow>(
  manager: EntityManager,
  table: Table,
  block: CompiledBlock,
  rows: readonly Row[],
): Promise<Row[]> {
  const slice = new TimeSlice();
  const found: Row[] = [];
  for (const row of rows) {
    await slice.pause();
    const isLong = block.readsDocuments && row.document === null;
    const document = isLong ? await documentOf(manager, table, row.id) : row.document;
    if (matchingBlocks([block], { ...row, document: () => document ?? '{}' }).length > 0) found.push(row);
  }
  return found;
}

async function documentOf(manager: EntityManager, table: Table, id: string): Promise<string | null> {
  const row = await manager.findOne(table, { select: { id: true, document: true }, where: { id } });
  return row?.document ?? null;
}

/**
 * SQL: what a block may match, of the sources with the ids `$1` (null: of all), with the parameters `$2` to `$4` of
 * `mayMatchValues`. Leaves names with other characters than printable ASCII to
 * JavaScript, which converts them to lower case differently.
 */
const mayMatch = (source: string, row: string, digest: string) => `
  ($1::int[] is null or ${source}.source_id = any($1::int[]))
  and ($2::text[] is null or ${row}.type = any($2::text[]))
  and ($3::text[] is null or ${row}.name ~ '[^ -~]' or lower(${row}.name) like any($3::text[]))
  and ($4::text[] is null or ${digest} = any(array(select decode(hex, 'hex') from unnest($4::text[]) as d(hex))))`;

function mayMatchValues(
  { rule: { types, names, digests } }: CompiledBlock,
  among: readonly number[] | null,
): unknown[] {
  return [among, types ?? null, names?.map(globPattern) ?? null, digests ?? null];
}

function selectItems(block: CompiledBlock | null, condition: string): string {
  const document = block?.readsDocuments ? shortDocument('i.document') : 'null::text';
  return `
    select i.id, i.source_id as "sourceId", i.type, i.name, i.version, i.digest, ${document} as document, i.reasons
    from admission_item i
    where i.status = 'held' and i.change is null and ($1::int[] is null or i.source_id = any($1::int[])) and ${condition}`;
}

/** Reads the held versions that a block matches. @param among ids of sources; null: all. */
function scanItems(
  manager: EntityManager,
  block: CompiledBlock,
  among: readonly number[] | null,
): AsyncGenerator<ItemRow[]> {
  const select = selectItems(block, mayMatch('i', 'i', 'i.digest'));
  return scan<ItemRow>(manager, select, mayMatchValues(block, among), [AdmissionItem, block]);
}

/** Reads the served versions that a block matches. @param among ids of sources; null: all. */
function scanServed(
  manager: EntityManager,
  block: CompiledBlock,
  among: readonly number[] | null,
): AsyncGenerator<ServedRow[]> {
  const document = block.readsDocuments ? shortDocument('v.document') : 'null::text';
  const select = `
    select v.id, v.entry_id as "entryId", e.source_id as "sourceId", e.type, e.name, v.version, v.digest,
      ${document} as document
    from entry e join entry_version v on v.entry_id = e.id
    where ${mayMatch('e', 'e', 'v.digest')}`;
  return scan<ServedRow>(manager, select, mayMatchValues(block, among), [EntryVersion, block]);
}

/** @param by keeps only the rows that this block matches; null keeps all rows. */
async function* scan<Row extends ScannedRow>(
  manager: EntityManager,
  select: string,
  values: readonly unknown[],
  by: readonly [table: Table, block: CompiledBlock] | null,
): AsyncGenerator<Row[]> {
  const size = select.includes('null::text') ? ROWS_PER_READ : DOCUMENTS_PER_READ;
  for await (const rows of readInParts<Row>(manager, select, values, size)) {
    const found = by ? await matching(manager, ...by, rows) : rows;
    if (found.length > 0) yield found;
  }
}

/** Moves served versions to the held items. */
async function moveToItems(
  manager: EntityManager,
  rows: readonly MovingVersion[],
  inheriting: readonly number[],
  reason: HoldReason,
): Promise<void> {
  const ids = rows.map(({ id }) => id);
  await manager.query(
    `insert into admission_item (id, source_id, type, name, version, status, reasons, digest, first_seen_at, is_approved,
       claims, publisher, publisher_key, content_tree, document, is_rewritten, version_key, search, version_status, status_message,
       status_changed_at, published_at, is_upstream_latest)
     select gen_random_uuid(), e.source_id, e.type, e.name, v.version, 'held', $3::jsonb, v.digest, v.published_at, true,
       case when e.source_id = any($2::int[]) then null else coalesce(e.given_claims, c.claims) end, v.published_by,
       ${PUBLISHER_KEY}, t.tree, v.document, true, v.version_key, v.search, v.status, v.status_message, v.status_changed_at,
       v.published_at, v.version_key >= '2'
     from entry_version v join entry e on e.id = v.entry_id join claim_set c on c.id = e.claim_set_id
       left join version_content t on t.version_id = v.id
     where v.id = any($1::bigint[])
     on conflict do nothing`,
    [ids, inheriting, JSON.stringify([reason])],
  );
  await deleteVersions(manager, ids);
}

/** Removes entries without versions, and elects the latest version of the others. */
async function settle(manager: EntityManager, sourceId: number, entryIds: readonly string[]): Promise<void> {
  const emptied = new Set(await deleteEmptyEntries(manager, entryIds));
  const left = entryIds.filter((id) => !emptied.has(id));
  await settleVersions(manager, sourceId, left);
}
