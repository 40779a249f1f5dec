import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { EntityManager } from 'typeorm';
import type { Queries } from '../database/statements.js';
import type { HoldReason } from '../entries/admission-gate.js';
import { type BlockRule, CompiledBlock } from './block-rule.js';

export const MAX_BLOCKS = 1_000;

/** Reads the blocks that are in force. */
@Injectable()
export class Blocks {
  private readonly compiled = new LRUCache<string, CompiledBlock>({ max: MAX_BLOCKS });

  /** Returns all blocks. They stay in force until the transaction ends if it has called `enterAdmission`. */
  async inForce(statements: Queries): Promise<CompiledBlock[]> {
    const rows = await statements.query<{ id: string; rule: BlockRule; revision: string }[]>(
      `select id, rule, xmin::text as revision from block order by id`,
    );
    return rows.map(({ id, rule, revision }) => {
      const key = `${id} ${revision}`;
      const known = this.compiled.get(key) ?? new CompiledBlock(id, rule);
      this.compiled.set(key, known);
      return known;
    });
  }
}

/** Returns the ids of all blocks, in order. */
export async function blockIds(manager: EntityManager): Promise<{ readonly name: string }[]> {
  return manager.query(`select id as name from block order by id`);
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
