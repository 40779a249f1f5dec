import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Any, type EntityManager } from 'typeorm';
import { type OrderedRows, readFirst } from '../database/bulk.js';
import type { VersionName } from '../documents/entry-types.js';
import { batches } from '../limits/batches.js';
import { pauseIfDue } from '../limits/time-slice.js';
import { AdmissionItem, Block } from './admission.entity.js';
import type { Members } from '../members/members.responses.js';
import { type BlockMatch, type BlockRule, CompiledBlock, matchingBlocks } from './block-rule.js';
import type { HoldReason } from './hold-reason.js';

export const MAX_BLOCKS = 1_000;

/** Reads the blocks that are in force. */
@Injectable()
export class Blocks {
  private readonly compiled = new LRUCache<string, CompiledBlock>({ max: MAX_BLOCKS });

  /** Returns all blocks. If the transaction has called `enterAdmission`, they do not change until it ends. */
  async inForce(manager: EntityManager): Promise<CompiledBlock[]> {
    const rows = await manager
      .createQueryBuilder(Block, 'block')
      .select('block.id', 'id')
      .addSelect('block.rule', 'rule')
      .addSelect('block.xmin::text', 'revision')
      .orderBy('block.id')
      .getRawMany<{ id: string; rule: BlockRule; revision: string }>();
    return rows.map(({ id, rule, revision }) => {
      const key = `${id} ${revision}`;
      const known = this.compiled.get(key) ?? new CompiledBlock(id, rule, revision);
      this.compiled.set(key, known);
      return known;
    });
  }
}

const FIRST_BLOCKS: OrderedRows = {
  columns: 'id, rule, created_at as "createdAt", updated_at as "updatedAt"',
  bytes: 'octet_length(rule::text)',
  from: 'block where id = any($1)',
  order: 'id',
};

/** Returns the first existing blocks among these: up to 1 MiB in total, but at least one. */
export async function firstBlocks(
  manager: EntityManager,
  ids: readonly string[],
): Promise<Pick<Block, 'id' | 'rule' | 'createdAt' | 'updatedAt'>[]> {
  return readFirst(manager, FIRST_BLOCKS, [ids]);
}

export function reasonOf({ block: { id, rule }, member }: BlockMatch): HoldReason {
  const message = `Blocked: ${rule.reason}${member === '' ? '' : ` (${member})`}`;
  return { policy: 'block', message, block: id };
}

/** Maximum items per read, without and with documents. */
const ITEMS_PER_READ = 1_000;
const DOCUMENTS_PER_READ = 10;

interface CheckedItem extends VersionName {
  readonly id: string;
  readonly digest: Buffer;
  readonly document: string | null;
  readonly members: Members | null;
}

/** Returns the reasons for which these blocks hold items, by item ID. */
export async function blockReasons(
  manager: EntityManager,
  blocks: readonly CompiledBlock[],
  itemIds: readonly string[],
): Promise<Map<string, readonly HoldReason[]>> {
  const found = new Map<string, readonly HoldReason[]>();
  if (blocks.length === 0) return found;
  const readsDocuments = blocks.some((block) => block.readsDocuments);
  for await (const batch of batches(itemIds, readsDocuments ? DOCUMENTS_PER_READ : ITEMS_PER_READ)) {
    const rows = await manager
      .createQueryBuilder(AdmissionItem, 'item')
      .leftJoin('content_tree', 'tree', 'tree.digest = item.contentTree')
      .select(['item.id as id', 'item.type as type', 'item.name as name'])
      .addSelect('item.version', 'version')
      .addSelect('item.digest', 'digest')
      .addSelect(readsDocuments ? 'item.document' : 'null', 'document')
      .addSelect(readsDocuments ? 'tree.members' : 'null', 'members')
      .where({ id: Any(batch) })
      .getRawMany<CheckedItem>();
    for (const row of rows) {
      await pauseIfDue();
      const matches = matchingBlocks(blocks, { ...row, document: () => row.document ?? '{}' });
      if (matches.length > 0) found.set(row.id, matches.map(reasonOf));
    }
  }
  return found;
}
