import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { isLockConflict } from '../database/database-errors.js';
import { Polling } from '../database/polling.js';
import { MANAGED_KIND } from '../source-kinds/kinds.js';
import { SourceLeases } from '../sources/source-leases.queries.js';
import { BlockSweep } from './block-sweep.queries.js';
import { Blocks, changesOf, endChanges, overdueBlocks } from './blocks.queries.js';

const EVERY_MS = 5_000;
/** A changed block interrupts whatever writes a source that it cannot lock within this time, and tries again this often. */
const ATTEMPTS = 20;
const PATIENCE = '200ms';

/** Applies changed blocks to synced sources. Polls for changes that a replica did not finish. */
@Injectable()
export class BlockChanges implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('admission');
  private readonly polling = new Polling(() => this.run(), EVERY_MS, this.logger, {
    failed: 'Applying changed blocks failed; it will be retried',
  });

  constructor(
    private readonly dataSource: DataSource,
    private readonly blocks: Blocks,
    private readonly sweep: BlockSweep,
    private readonly leases: SourceLeases,
  ) {}

  onApplicationBootstrap(): void {
    this.polling.begin();
  }

  onApplicationShutdown(): Promise<void> {
    return this.polling.end();
  }

  private async run(): Promise<void> {
    for (const id of await overdueBlocks(this.dataSource.manager)) await this.apply(id);
  }

  /**
   * Applies the current state of a block, or its removal, after the change is committed. A failure is not an error of
   * the request: it is logged, and the polling of any replica retries it.
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
    const changes = await changesOf(this.dataSource.manager, id);
    if (changes.length === 0) return;
    const sources = await this.dataSource.transaction(async (manager) =>
      this.sweep.affectedSources(manager, id, await this.find(manager, id)),
    );
    const swept = new Set(
      await this.dataSource.transaction((manager) => this.sweepLocked(manager, sources, id, 'skip locked')),
    );
    const failures: unknown[] = [];
    for (const sourceId of sources.filter((one) => !swept.has(one)))
      await this.dataSource
        .transaction(async (manager) => {
          await this.lockSource(manager, sourceId);
          await this.sweepLocked(manager, [sourceId], id);
        })
        // One source that stays locked must not keep the others from being swept.
        .catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw failures[0];
    await endChanges(this.dataSource.manager, changes);
  }

  private async find(manager: EntityManager, id: string) {
    return (await this.blocks.inForce(manager)).find((block) => block.id === id) ?? null;
  }

  /** @returns the ids of the sources that were swept. */
  private async sweepLocked(
    manager: EntityManager,
    among: readonly number[],
    id: string,
    otherwise: 'skip locked' | '' = '',
  ): Promise<number[]> {
    const rows = await manager.query<{ id: number }[]>(
      `select id from source where id = any($1::int[]) and kind <> '${MANAGED_KIND}' order by id
       for no key update ${otherwise}`,
      [among],
    );
    if (rows.length === 0) return [];
    const locked = rows.map((row) => row.id);
    const considered = await this.blocks.inForce(manager);
    await this.sweep.apply(manager, locked, id, considered.find((block) => block.id === id) ?? null);
    await this.sweep.settle(manager, locked, considered);
    return locked;
  }

  // A sync writes for as long as its source is large; the block must not wait for it.
  private async lockSource(manager: EntityManager, sourceId: number): Promise<void> {
    await manager.query(`set local lock_timeout = '${PATIENCE}'`);
    for (let attempt = 1; ; attempt += 1) {
      await manager.query('savepoint before_source');
      try {
        await manager.query(`select id from source where id = $1 for no key update`, [sourceId]);
        break;
      } catch (error) {
        if (attempt === ATTEMPTS || !isLockConflict(error)) throw error;
        await manager.query('rollback to savepoint before_source');
        await this.leases.interrupt(sourceId);
      }
    }
    await manager.query(`set local lock_timeout = '5s'`);
  }
}
