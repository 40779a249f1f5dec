import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, Repository } from 'typeorm';
import { type Audited, AuditTrail, type ChangeEvent } from '../audit/audit-trail.js';
import type { Caller } from '../auth/caller.js';
import { closeAdmission } from '../database/locks.js';
import { ApiError } from '../http/errors.js';
import { JsonText } from '../http/json-answers.js';
import { type AdminListQuery, listPage } from '../http/lists.js';
import { checkPreconditions, contentTag, type Preconditions } from '../http/preconditions.js';
import type { RequestContext } from '../http/request-context.js';
import { checkSettingsLength } from '../sources/admin-limits.js';
import { isStorable } from '../validation/storable-text.js';
import type { BlockBody } from './admission.dto.js';
import { Block, BlockChange } from './admission.entity.js';
import { type BlockRule, CompiledBlock } from './block-rule.js';
import { BlockChanges } from './block-changes.queries.js';
import { BlockSweep } from './block-sweep.queries.js';
import { firstBlocks, MAX_BLOCKS } from './blocks.queries.js';

/** Manages the blocks, which apply to every source (reference/admission). */
@Injectable()
export class BlocksService {
  constructor(
    private readonly audit: AuditTrail,
    private readonly sweep: BlockSweep,
    private readonly changes: BlockChanges,
    @InjectRepository(Block) private readonly blocks: Repository<Block>,
  ) {}

  async list(query: AdminListQuery): Promise<JsonText> {
    const blocks = await this.blocks.find({ select: { id: true }, order: { id: 'ASC' } });
    const names = blocks.map(({ id }) => ({ name: id }));
    const page = await listPage('blocks', names, query, true, async (next) => {
      const loaded = await firstBlocks(
        this.blocks.manager,
        next.map(({ name }) => name),
      );
      return loaded.map((block) => ({ name: block.id, answer: blockAnswer(block) }));
    });
    return new JsonText(page);
  }

  /** @throws ApiError 404 `block_not_found`. */
  async get(id: string): Promise<JsonText> {
    return answerOf(await existing(this.blocks.manager, id));
  }

  /**
   * Creates or replaces a block, and applies it to everything that is served or held.
   *
   * @throws ApiError 400 `settings_too_long`, 409 `too_many_blocks`, 412 `precondition_failed`.
   */
  async put(
    caller: Caller,
    id: string,
    body: BlockBody,
    preconditions: Preconditions,
    context: RequestContext,
  ): Promise<JsonText> {
    checkSettingsLength(body, []);
    const rule = JSON.parse(JSON.stringify(body)) as BlockRule;
    return this.change(caller, context, id, async (manager) => {
      const before = await manager.findOneBy(Block, { id });
      checkPreconditions(preconditions, before ? contentTag(before.rule) : null);
      if (before && isDeepStrictEqual(before.rule, rule)) return { result: answerOf(before), events: [] };
      if (!before && (await manager.count(Block)) >= MAX_BLOCKS) throw new ApiError('too_many_blocks');
      if (before) await manager.update(Block, { id }, { rule, updatedAt: () => 'now()' });
      else await manager.insert(Block, { id, rule });
      await manager.insert(BlockChange, { id: randomUUID(), block: id });
      await this.sweep.applyToPublished(manager, id);
      const event: ChangeEvent = {
        action: before ? 'block.update' : 'block.create',
        target: { type: 'block', name: id },
        claims: [],
        change: { ...(before ? { before: before.rule } : {}), after: rule },
      };
      const block = await manager.findOneByOrFail(Block, { id });
      return { result: answerOf(block, !before), events: [event] };
    });
  }

  /** Counts the served versions that a block would hold; writes nothing. */
  async preview(body: BlockBody): Promise<{ readonly matches: number }> {
    checkSettingsLength(body, []);
    const block = new CompiledBlock('preview', JSON.parse(JSON.stringify(body)) as BlockRule);
    return this.blocks.manager.transaction(async (manager) => ({
      matches: await this.sweep.count(manager, block),
    }));
  }

  /**
   * Removes a block, and restores the versions that nothing else holds.
   *
   * @throws ApiError 404 `block_not_found`, 412 `precondition_failed`.
   */
  async remove(
    caller: Caller,
    id: string,
    preconditions: Preconditions,
    context: RequestContext,
  ): Promise<void> {
    await this.change(caller, context, id, async (manager) => {
      const block = await existing(manager, id);
      checkPreconditions(preconditions, contentTag(block.rule));
      await manager.delete(Block, { id });
      await manager.insert(BlockChange, { id: randomUUID(), block: id });
      await this.sweep.applyToPublished(manager, id);
      const event: ChangeEvent = {
        action: 'block.delete',
        target: { type: 'block', name: id },
        claims: [],
        change: { before: block.rule },
      };
      return { result: undefined, events: [event] };
    });
  }

  /**
   * Changes a block. The same transaction sweeps published entries, excluding all other writers; synced sources are
   * swept afterwards, as their locks become free. A running sync finds the change before it commits.
   */
  private async change<T>(
    caller: Caller,
    context: RequestContext,
    id: string,
    work: (manager: EntityManager) => Promise<Audited<T>>,
  ): Promise<T> {
    const answer = await this.audit.transaction({ caller, context }, async (manager) => {
      await closeAdmission(manager);
      return work(manager);
    });
    await this.changes.apply(id);
    return answer;
  }
}

/** @throws ApiError 404 `block_not_found`. */
async function existing(manager: EntityManager, id: string): Promise<Block> {
  const block = isStorable(id) ? await manager.findOneBy(Block, { id }) : null;
  if (!block) throw new ApiError('block_not_found');
  return block;
}

function blockAnswer(block: Pick<Block, 'id' | 'rule' | 'createdAt' | 'updatedAt'>): object {
  return { id: block.id, ...block.rule, createdAt: block.createdAt, updatedAt: block.updatedAt };
}

function answerOf(block: Block, isCreated = false): JsonText {
  return new JsonText(JSON.stringify(blockAnswer(block)), contentTag(block.rule), isCreated);
}
