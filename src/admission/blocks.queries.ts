import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { EntityManager } from 'typeorm';
import { firstRows } from '../database/statements.js';
import type { VersionName } from '../documents/entry-types.js';
import type { HoldReason } from '../entries/admission-gate.js';
import { batches } from '../entries/writer/catalog-diff.js';
import { TimeSlice } from '../json/time-slice.js';
import type { Block } from './admission.entity.js';
import { type BlockRule, CompiledBlock, matchingBlocks } from './block-rule.js';

export const MAX_BLOCKS = 1_000;

/** Reads the blocks that are in force. */
@Injectable()
export class Blocks {
  private readonly compiled = new LRUCache<string, CompiledBlock>({ max: MAX_BLOCKS });

  /** Returns all blocks. They stay the same until the transaction ends if it has called `enterAdmission`. */
  async inForce(manager: EntityManager): Promise<CompiledBlock[]> {
    const rows = await manager.query<{ id: string; rule: BlockRule; revision: string }[]>(
      `select id, rule, xmin::text as revision from block order by id`,
    );
    return rows.map(({ id, rule, revision }) => {
      const key = `${id} ${revision}`;
      const known = this.compiled.get(key) ?? new CompiledBlock(id, rule, revision);
      this.compiled.set(key, known);
      return known;
    });
  }
}

/** Notes that a block has changed. */
export async function noteChange(manager: EntityManager, block: string): Promise<void> {
  await manager.query(`insert into block_change (id, block) values (gen_random_uuid(), $1)`, [block]);
}

/** Returns the changes of a block that have not been applied to all synced sources. */
export async function changesOf(manager: EntityManager, block: string): Promise<string[]> {
  const rows = await manager.query<{ id: string }[]>(`select id from block_change where block = $1`, [block]);
  return rows.map(({ id }) => id);
}

export async function endChanges(manager: EntityManager, ids: readonly string[]): Promise<void> {
  await manager.query(`delete from block_change where id = any($1::uuid[])`, [ids]);
}

/** Returns the blocks with changes that the request should have applied by now. */
export async function overdueBlocks(manager: EntityManager): Promise<string[]> {
  const rows = await manager.query<{ block: string }[]>(
    `select distinct block from block_change where created_at < now() - interval '10 seconds'`,
  );
  return rows.map(({ block }) => block);
}

/** Returns the ids of all blocks, in order. */
export async function blockIds(manager: EntityManager): Promise<{ readonly name: string }[]> {
  return manager.query(`select id as name from block order by id`);
}

const FIRST_BLOCKS = firstRows(
  'id, rule, created_at as "createdAt", updated_at as "updatedAt"',
  'octet_length(rule::text)',
  'block where id = any($1)',
  'id',
);

/** Returns the first of these blocks that exist: up to 1 MiB in total, but at least one. */
export async function firstBlocks(
  manager: EntityManager,
  ids: readonly string[],
): Promise<Pick<Block, 'id' | 'rule' | 'createdAt' | 'updatedAt'>[]> {
  return manager.query(FIRST_BLOCKS, [ids]);
}

export async function writeBlock(manager: EntityManager, id: string, rule: BlockRule): Promise<void> {
  await manager.query(
    `insert into block (id, rule) values ($1, $2)
     on conflict (id) do update set rule = excluded.rule, updated_at = now()`,
    [id, JSON.stringify(rule)],
  );
}

export function reasonOf({ id, rule }: CompiledBlock): HoldReason {
  return { policy: 'block', message: `Blocked: ${rule.reason}`, block: id };
}

/** Items read at once, without and with documents. */
const ITEMS_PER_READ = 1_000;
const DOCUMENTS_PER_READ = 10;

/** Returns why these blocks hold items, by id. */
export async function blockReasons(
  manager: EntityManager,
  blocks: readonly CompiledBlock[],
  itemIds: readonly string[],
): Promise<Map<string, readonly HoldReason[]>> {
  const found = new Map<string, readonly HoldReason[]>();
  if (blocks.length === 0) return found;
  const readsDocuments = blocks.some((block) => block.readsDocuments);
  const slice = new TimeSlice();
  for await (const batch of batches(itemIds, readsDocuments ? DOCUMENTS_PER_READ : ITEMS_PER_READ)) {
    const rows = await manager.query<
      (VersionName & { id: string; digest: Buffer; document: string | null })[]
    >(
      `select id, type, name, version, digest, ${readsDocuments ? 'document' : 'null::text'} as document
       from admission_item where id = any($1::uuid[])`,
      [batch],
    );
    for (const row of rows) {
      await slice.pause();
      const matching = matchingBlocks(blocks, { ...row, document: () => row.document ?? '{}' });
      if (matching.length > 0) found.set(row.id, matching.map(reasonOf));
    }
  }
  return found;
}
