import { Injectable } from '@nestjs/common';
import { type EntityManager, In } from 'typeorm';
import { SYNC_ACTOR } from '../audit/audit-event.js';
import { AuditTrail } from '../audit/audit-trail.js';
import { readInParts } from '../database/bulk.js';
import { enterAdmission } from '../database/locks.js';
import type { VersionName } from '../documents/entry-types.js';
import { deleteEmptyEntries, deleteVersions, settleVersions } from '../entry-store/entry-rows.queries.js';
import type { Members } from '../members/members.responses.js';
import { batches } from '../limits/batches.js';
import { pauseIfDue } from '../limits/time-slice.js';
import { KINDS, MANAGED_KIND } from '../source-kinds/kinds.js';
import { Source } from '../sources/source.entity.js';
import { SourceStates } from '../sources/source-states.queries.js';
import { AdmissionItem } from './admission.entity.js';
import { AdmittedItems } from './admitted-items.queries.js';
import type { CompiledBlock } from './block-rule.js';
import { matchingBlocks } from './block-rule.js';
import { blockReasons, Blocks, reasonOf } from './blocks.queries.js';
import { dueAtOf } from './curation-rules.js';
import { countHeld, deleteItems, setReasons } from './held-items.queries.js';
import { itemEvent } from './item-event.js';
import { PUBLISHER_KEY } from './review-rules.js';
import { globPattern } from './seen-items.queries.js';
import { MAX_ITEM_EVENTS } from './synced-admission.js';
import type { ConsideredBlocks } from './synced-content.js';
import { type HoldReason, isRemoved, REMOVED } from './hold-reason.js';

/** Maximum rows per read, without and with documents of up to 1 MiB, and maximum rows moved by one statement. */
const ROWS_PER_READ = 1_000;
const DOCUMENTS_PER_READ = 25;
const ROWS_PER_STATEMENT = 2_000;

interface ScannedRow extends VersionName {
  readonly id: string;
  readonly digest: Buffer;
  readonly document: string | null;
  readonly members: Members | null;
}

interface ServedRow extends ScannedRow {
  readonly entryId: string;
  readonly sourceId: number;
}

/** A served version that is being held; there may be a million of them. */
interface MovingVersion {
  readonly id: string;
  readonly entryId: string;
  readonly sourceId: number;
  readonly reasons: readonly HoldReason[];
}

/** A row that a block matches, with the reason. */
type Matched<Row> = Row & { readonly reason: HoldReason };

interface ItemRow extends ScannedRow {
  readonly sourceId: number;
  readonly reasons: readonly HoldReason[];
}

/**
 * Applies changed blocks to stored versions: moves matching served versions to the held items, and admits held items
 * that nothing else holds. Runs in the caller's transaction, which has locked the rows of the sources.
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

  /** @param block null if the block with this ID is removed. */
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
   * Applies the blocks that changed since those in `considered` were read, and keeps blocks from changing until the
   * transaction ends. Every transaction that stores versions of synced sources calls it last. A block is thus written
   * either after the commit, and then applied to the committed versions, or before it, and then found here.
   */
  async settle(
    manager: EntityManager,
    sourceIds: readonly number[],
    considered: ConsideredBlocks,
  ): Promise<void> {
    // Changes to blocks wait for the lock, so most of the work is done before taking it.
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

  /** Returns the IDs of the sources where a changed block would hold, or has held, a version. Takes no locks. */
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
    const audited: Matched<ServedRow>[] = [];
    for await (const rows of scanServed(manager, block, among)) {
      found.push(
        ...rows.map(({ id, entryId, sourceId, reason }) => ({ id, entryId, sourceId, reasons: [reason] })),
      );
      const left = MAX_ITEM_EVENTS - audited.length;
      audited.push(...rows.slice(0, left).map((row) => ({ ...row, document: null, members: null })));
    }
    await this.hold(manager, found, true);
    await this.recordItems(manager, 'admission.hold', audited);
  }

  /**
   * Moves served versions to the held items, with their content. Their sources are locked.
   *
   * @param isApproved see `AdmissionItem`.
   */
  async hold(manager: EntityManager, found: readonly MovingVersion[], isApproved: boolean): Promise<void> {
    const sourceIds = [...new Set(found.map(({ sourceId }) => sourceId))].sort((one, other) => one - other);
    const sources = await manager.find(Source, {
      select: { id: true, kind: true },
      where: { id: In(sourceIds) },
    });
    const inheriting = sources.filter(({ kind }) => KINDS[kind].inheritsClaims).map(({ id }) => id);
    for await (const batch of batches(found, ROWS_PER_STATEMENT))
      await moveToItems(manager, batch, inheriting, isApproved);
    // Runs after all versions, because the versions of one entry may be in several batches.
    for (const id of sourceIds) {
      const entryIds = new Set(found.flatMap(({ entryId, sourceId }) => (sourceId === id ? [entryId] : [])));
      for await (const batch of batches([...entryIds], ROWS_PER_STATEMENT)) await settle(manager, id, batch);
    }
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
        items.filter((item) => !isFreed(item)),
      );
      freed.push(...items.filter(isFreed));
    };
    const has = ({ reasons }: ItemRow) => reasons.some((reason) => reason.block === id);
    const without = ({ reasons }: ItemRow) => reasons.filter((reason) => reason.block !== id);
    const held = selectItems(block, `reasons @> $2::jsonb`);
    const values = [among, JSON.stringify([{ block: id }])];
    for await (const rows of readInParts<ItemRow>(manager, held, values, rowsPerRead(block))) {
      const matched = block ? await matching(block, rows) : [];
      const stay = new Map(matched.map((row) => [row.id, row.reason]));
      await update(
        rows.map((row) => {
          const reason = stay.get(row.id);
          return { ...row, reasons: [...without(row), ...(reason ? [reason] : [])], ...NO_DOCUMENT };
        }),
      );
    }
    if (block)
      for await (const rows of scanItems(manager, block, among))
        await update(
          rows
            .filter((row) => !has(row))
            .map((row) => ({ ...row, reasons: [...row.reasons, row.reason], ...NO_DOCUMENT })),
        );
    await this.restore(manager, freed);
  }

  /**
   * Compares held items with all blocks again, because their content has become known or has changed. The caller has
   * locked their sources.
   */
  async rejudge(manager: EntityManager, itemIds: readonly string[]): Promise<void> {
    const rows = await manager.query<ItemRow[]>(
      `${selectItems(null, 'i.id = any($2::uuid[])')} order by i.id for update of i`,
      [null, itemIds],
    );
    const blocked = await blockReasons(manager, await this.blocks.inForce(manager), itemIds);
    const changed = rows.map((row) => ({
      ...row,
      reasons: [...row.reasons.filter(({ policy }) => policy !== 'block'), ...(blocked.get(row.id) ?? [])],
    }));
    await setReasons(
      manager,
      changed.filter((item) => !isFreed(item)),
    );
    const freed = changed.filter(isFreed);
    if (freed.length > 0) await this.restore(manager, freed);
  }

  /** Admits items that nothing holds anymore, and deletes those that their source dropped. */
  private async restore(manager: EntityManager, freed: readonly ItemRow[]): Promise<void> {
    // Another block may be in force that has not been applied to these sources yet.
    const blocked = await blockReasons(
      manager,
      await this.blocks.inForce(manager),
      freed.map(({ id }) => id),
    );
    await setReasons(
      manager,
      freed.flatMap((item) => {
        const reasons = blocked.get(item.id);
        return reasons ? [{ id: item.id, reasons: [...reasons, ...(isRemoved(item) ? [REMOVED] : [])] }] : [];
      }),
    );
    const ended = freed.filter(({ id }) => !blocked.has(id));
    await deleteItems(
      manager,
      ended.filter(isRemoved).map(({ id }) => id),
    );
    const items = ended.filter((item) => !isRemoved(item));
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
    for (const id of [...bySource.keys()].sort((one, other) => one - other))
      await this.admitted.admit(
        manager,
        id,
        (bySource.get(id) ?? []).map((item) => item.id),
      );
    await this.recordItems(manager, 'admission.admit', items);
  }

  private async recordItems(
    manager: EntityManager,
    action: 'admission.hold' | 'admission.admit',
    items: readonly (Matched<ServedRow> | ItemRow)[],
  ): Promise<void> {
    const recorded = items.slice(0, MAX_ITEM_EVENTS);
    const sources = await manager.find(Source, {
      select: { id: true, name: true },
      where: { id: In([...new Set(recorded.map(({ sourceId }) => sourceId))]) },
    });
    const nameOf = new Map(sources.map(({ id, name }) => [id, name]));
    await this.audit.writeItems(
      manager,
      SYNC_ACTOR,
      recorded.map((item) => {
        const source = { name: nameOf.get(item.sourceId) ?? '' };
        return itemEvent(action, item, source, null, 'reason' in item ? [item.reason] : undefined);
      }),
    );
  }
}

/** Whether nothing holds an item anymore. */
function isFreed({ reasons }: ItemRow): boolean {
  return reasons.every(({ policy }) => policy === 'removed');
}

const NO_DOCUMENT = { document: null, members: null };

function rowsPerRead(block: CompiledBlock | null): number {
  return block?.readsDocuments ? DOCUMENTS_PER_READ : ROWS_PER_READ;
}

/** SQL: what a block reads of a version: its document, and the members of its content `t`. */
function textsFor(block: CompiledBlock | null, document: string): string {
  return block?.readsDocuments
    ? `${document} as document, t.members`
    : 'null::text as document, null::jsonb as members';
}

/** Returns the rows that a block matches. Publishers control how much there is to parse, so it pauses between rows. */
async function matching<Row extends ScannedRow>(
  block: CompiledBlock,
  rows: readonly Row[],
): Promise<Matched<Row>[]> {
  const found: Matched<Row>[] = [];
  for (const row of rows) {
    await pauseIfDue();
    const [match] = matchingBlocks([block], { ...row, document: () => row.document ?? '{}' });
    if (match) found.push({ ...row, reason: reasonOf(match) });
  }
  return found;
}

/**
 * SQL: the rows that a block may match in the sources with the IDs `$1` (null for all sources), with the parameters
 * `$2` to `$4` from `mayMatchValues`. Names with any characters except printable ASCII always pass, because JavaScript
 * lower-cases them differently and decides.
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
  return `
    select i.id, i.source_id as "sourceId", i.type, i.name, i.version, i.digest, i.reasons,
      ${textsFor(block, 'i.document')}
    from admission_item i left join content_tree t on t.digest = i.content_tree
    where i.status = 'held' and i.change is null and ($1::int[] is null or i.source_id = any($1::int[])) and ${condition}`;
}

/** Reads the held versions that a block matches. @param among IDs of sources; null for all. */
function scanItems(
  manager: EntityManager,
  block: CompiledBlock,
  among: readonly number[] | null,
): AsyncGenerator<Matched<ItemRow>[]> {
  const select = selectItems(block, mayMatch('i', 'i', 'i.digest'));
  return scanMatching<ItemRow>(manager, select, mayMatchValues(block, among), block);
}

/** Reads the served versions that a block matches. @param among IDs of sources; null for all. */
function scanServed(
  manager: EntityManager,
  block: CompiledBlock,
  among: readonly number[] | null,
): AsyncGenerator<Matched<ServedRow>[]> {
  const select = `
    select v.id, v.entry_id as "entryId", e.source_id as "sourceId", e.type, e.name, v.version, v.digest,
      ${textsFor(block, 'v.document')}
    from entry e join entry_version v on v.entry_id = e.id
    left join version_content c on c.version_id = v.id left join content_tree t on t.digest = c.tree
    where ${mayMatch('e', 'e', 'v.digest')}`;
  return scanMatching<ServedRow>(manager, select, mayMatchValues(block, among), block);
}

async function* scanMatching<Row extends ScannedRow>(
  manager: EntityManager,
  select: string,
  values: readonly unknown[],
  block: CompiledBlock,
): AsyncGenerator<Matched<Row>[]> {
  for await (const rows of readInParts<Row>(manager, select, values, rowsPerRead(block))) {
    const found = await matching(block, rows);
    if (found.length > 0) yield found;
  }
}

/** Moves served versions to the held items. */
async function moveToItems(
  manager: EntityManager,
  rows: readonly MovingVersion[],
  inheriting: readonly number[],
  isApproved: boolean,
): Promise<void> {
  const ids = rows.map(({ id }) => id);
  await manager.query(
    `insert into admission_item (id, source_id, type, name, version, status, reasons, due_at, digest, first_seen_at, is_approved,
       claims, publisher, publisher_key, content_tree, document, is_rewritten, version_key, search, version_status, status_message,
       status_changed_at, published_at, is_upstream_latest)
     select gen_random_uuid(), e.source_id, e.type, e.name, v.version, 'held', n.reasons::jsonb, n.due_at, v.digest,
       v.published_at, $4, case when e.source_id = any($2::int[]) then null else coalesce(e.given_claims, c.claims) end,
       v.published_by, ${PUBLISHER_KEY}, t.tree, v.document, true, v.version_key, v.search, v.status, v.status_message,
       v.status_changed_at, v.published_at, v.version_key >= '2'
     from unnest($1::bigint[], $3::text[], $5::timestamptz[]) as n(id, reasons, due_at)
       join entry_version v on v.id = n.id join entry e on e.id = v.entry_id join claim_set c on c.id = e.claim_set_id
       left join version_content t on t.version_id = v.id
     on conflict do nothing`,
    [
      ids,
      inheriting,
      rows.map(({ reasons }) => JSON.stringify(reasons)),
      isApproved,
      rows.map(({ reasons }) => dueAtOf(reasons)),
    ],
  );
  await deleteVersions(manager, ids);
}

/** Removes entries without versions, and elects the latest version of the remaining ones. */
async function settle(manager: EntityManager, sourceId: number, entryIds: readonly string[]): Promise<void> {
  const emptied = new Set(await deleteEmptyEntries(manager, entryIds));
  const left = entryIds.filter((id) => !emptied.has(id));
  await settleVersions(manager, sourceId, left);
}
