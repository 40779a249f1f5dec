import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Polling } from '../database/polling.js';
import { UnusedClaimSets } from './unused-claim-sets.queries.js';

const EVERY_MS = 5 * 60_000;
/** Pause between slices, so that other statements can run. */
const PAUSE_MS = 20;

/** Deletes unreferenced claim sets on one replica at a time. Publishers can create any number of claim sets. */
@Injectable()
export class ClaimSetCleanup implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('claim-sets');
  private readonly polling = new Polling(() => this.run(), EVERY_MS, this.logger, {
    failed: 'Deleting unused claim sets failed; it will be retried',
  });

  constructor(private readonly unused: UnusedClaimSets) {}

  onApplicationBootstrap(): void {
    // During a rolling update, replicas of the previous version might not lock the claim sets that they are about to
    // use.
    this.polling.beginLater();
  }

  onApplicationShutdown(): Promise<void> {
    return this.polling.end();
  }

  /** Checks all claim sets once, in slices, unless another replica holds the lock. */
  async run(): Promise<void> {
    let deleted = 0;
    for (let after: number | null = 0; after !== null && !this.polling.hasEnded;) {
      const slice = await this.unused.deleteSlice(after);
      deleted += slice.deleted;
      after = slice.reached;
      if (after !== null) await sleep(PAUSE_MS);
    }
    if (deleted > 0) this.logger.log({ deleted }, 'Deleted unused claim sets');
  }
}
