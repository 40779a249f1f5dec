import { Injectable, Logger } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { DataSource, type EntityManager, In, Not, Raw, Repository } from 'typeorm';
import { isLockConflict } from '../database/database-errors.js';
import { limitLockWaits } from '../database/locks.js';
import { Polling } from '../database/polling.js';
import { MANAGED_KIND } from '../source-kinds/kinds.js';
import { Source } from '../sources/source.entity.js';
import { lockSource } from '../sources/sources.repository.js';
import { SourceLeases } from '../sources/source-leases.queries.js';
import { BlockChange } from './admission.entity.js';
import { BlockSweep } from './block-sweep.queries.js';
import { Blocks } from './blocks.queries.js';

const EVERY_MS = 5_000;
/** How long to wait for the lock of a source before interrupting its writer, and how often to try again. */
const ATTEMPTS = 20;
const PATIENCE = '200ms';

/** Applies changed blocks to synced sources. Polls for changes that a replica left unfinished. */
@Injectable()
export class BlockChanges extends Polling {
  constructor(
    private readonly dataSource: DataSource,
    @InjectRepository(BlockChange) private readonly pending: Repository<BlockChange>,
    private readonly blocks: Blocks,
    private readonly sweep: BlockSweep,
    private readonly leases: SourceLeases,
  ) {
    super(EVERY_MS, new Logger('admission'), {
      failed: 'Applying changed blocks failed; it will be retried',
    });
  }

  protected async poll(): Promise<void> {
    const overdue = await this.pending.findBy({
      createdAt: Raw((at) => `${at} < now() - interval '10 seconds'`),
    });
    for (const id of new Set(overdue.map(({ block }) => block))) await this.apply(id);
  }

  /**
   * Applies the current state of a block, or its removal, after the change is committed. A failure does not fail the
   * request: it is logged, and any replica's polling retries it.
   */
  async apply(id: string): Promise<void> {
    try {
      await this.applyToSources(id);
    } catch (error) {
      this.logger.error(
        { err: error, block: id },
        'A changed block is in force, but not yet applied everywhere',
      );
    }
  }

  private async applyToSources(id: string): Promise<void> {
    const changes = await this.pending.findBy({ block: id });
    if (changes.length === 0) return;
    const sources = await this.dataSource.transaction(async (manager) =>
      this.sweep.affectedSources(manager, id, await this.find(manager, id)),
    );
    const swept = new Set(
      await this.dataSource.transaction((manager) => this.sweepLocked(manager, sources, id, 'skip_locked')),
    );
    const failures: unknown[] = [];
    for (const sourceId of sources.filter((one) => !swept.has(one)))
      await this.dataSource
        .transaction(async (manager) => {
          await this.lockSource(manager, sourceId);
          await this.sweepLocked(manager, [sourceId], id);
        })
        // One source that stays locked must not prevent sweeping the others.
        .catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw failures[0];
    await this.pending.delete({ id: In(changes.map((change) => change.id)) });
  }

  private async find(manager: EntityManager, id: string) {
    return (await this.blocks.inForce(manager)).find((block) => block.id === id) ?? null;
  }

  /** @returns the ids of the sources that were swept. */
  private async sweepLocked(
    manager: EntityManager,
    among: readonly number[],
    id: string,
    onLocked?: 'skip_locked',
  ): Promise<number[]> {
    const rows = await manager.find(Source, {
      select: { id: true },
      where: { id: In(among), kind: Not(MANAGED_KIND) },
      order: { id: 'ASC' },
      lock: { mode: 'for_no_key_update', ...(onLocked && { onLocked }) },
    });
    if (rows.length === 0) return [];
    const locked = rows.map((row) => row.id);
    const considered = await this.blocks.inForce(manager);
    await this.sweep.apply(manager, locked, id, considered.find((block) => block.id === id) ?? null);
    await this.sweep.settle(manager, locked, considered);
    return locked;
  }

  // A sync of a large source writes for a long time; the block must not wait for it.
  private async lockSource(manager: EntityManager, sourceId: number): Promise<void> {
    await limitLockWaits(manager, PATIENCE);
    for (let attempt = 1; ; attempt += 1)
      try {
        // A nested transaction, which is a savepoint.
        await manager.transaction((nested) => lockSource(nested, sourceId).getOne());
        break;
      } catch (error) {
        if (attempt === ATTEMPTS || !isLockConflict(error)) throw error;
        await this.leases.interrupt(sourceId);
      }
    await limitLockWaits(manager);
  }
}
