import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { advisoryLock } from '../database/locks.js';
import { Polling } from '../database/polling.js';

/** Advisory lock held by the replica that deletes claim sets. */
const CLEANUP_LOCK = 7_264_018_533;
/** Number of claim sets checked per transaction. */
const SLICE = 1_000;

/** SQL condition: nothing refers to the claim set `c`. */
const IS_UNUSED = `not exists (select 1 from entry where claim_set_id = c.id)
  and not exists (select 1 from source_partition where claim_set_id = c.id)
  and not exists (select 1 from source where claim_set_id = c.id)
  and not exists (select 1 from registry where claim_set_id = c.id)`;

export interface DeletedSlice {
  readonly deleted: number;
  /** ID of the last checked claim set; null after the last slice, or if another replica holds the lock. */
  readonly reached: number | null;
}

@Injectable()
export class UnusedClaimSets {
  constructor(private readonly dataSource: DataSource) {}

  /**
   * Deletes the unused claim sets in the slice after this ID.
   *
   * Transactions that are about to use a claim set lock its row (see ClaimSetsRepository), and locked rows are skipped.
   * Rows locked here cannot get new references, so the check in the DELETE is final.
   */
  async deleteSlice(after: number): Promise<DeletedSlice> {
    return this.dataSource.transaction(async (manager) => {
      if (!(await advisoryLock(manager, CLEANUP_LOCK, 'try'))) return { deleted: 0, reached: null };
      const [slice] = await manager.query<{ reached: number | null; locked: number[] }[]>(
        `with slice as (select id from claim_set where id > $1 order by id limit ${SLICE}), locked as (
           select id from claim_set c where id in (select id from slice) and ${IS_UNUSED} order by id for update skip locked
         )
         select (select max(id) from slice) as reached, array(select id from locked) as locked`,
        [after],
      );
      const { reached = null, locked = [] } = slice ?? {};
      if (locked.length === 0) return { deleted: 0, reached };
      const [, deleted] = await manager.query<[unknown[], number]>(
        `delete from claim_set c where id = any($1::int[]) and ${IS_UNUSED}`,
        [locked],
      );
      return { deleted, reached };
    });
  }
}

const EVERY_MS = 5 * 60_000;
/** Pause between slices, so that other statements can run. */
const PAUSE_MS = 20;

/** Deletes unreferenced claim sets on one replica at a time. Publishers can create any number of claim sets. */
@Injectable()
export class ClaimSetCleanup extends Polling {
  constructor(private readonly unused: UnusedClaimSets) {
    super(EVERY_MS, new Logger('claim-sets'), {
      failed: 'Deleting unused claim sets failed; it will be retried',
    });
  }

  override onApplicationBootstrap(): void {
    // During a rolling update, replicas of the previous version might not lock the claim sets that they are about to
    // use.
    this.beginLater();
  }

  /** Checks all claim sets once, in slices, unless another replica holds the lock. */
  protected async poll(): Promise<void> {
    let deleted = 0;
    for (let after: number | null = 0; after !== null && !this.hasEnded;) {
      const slice = await this.unused.deleteSlice(after);
      deleted += slice.deleted;
      after = slice.reached;
      if (after !== null) await sleep(PAUSE_MS);
    }
    if (deleted > 0) this.logger.log({ deleted }, 'Deleted unused claim sets');
  }
}
