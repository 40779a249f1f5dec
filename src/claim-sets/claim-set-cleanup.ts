import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Polling } from '../database/polling.js';
import { UnusedClaimSets } from './unused-claim-sets.queries.js';

const EVERY_MS = 5 * 60_000;
/** Between two slices, for the statements of others. */
const PAUSE_MS = 20;

/**
 * Deletes the claim sets that nothing refers to any more: whoever may publish can make any number of them. Every replica looks
 * from time to time, one at a time.
 */
@Injectable()
export class ClaimSetCleanup implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('claim-sets');
  private readonly polling = new Polling(() => this.run(), EVERY_MS, this.logger, {
    failed: 'Deleting the claim sets that nothing uses failed; it is tried again later',
  });

  constructor(private readonly unused: UnusedClaimSets) {}

  onApplicationBootstrap(): void {
    // While replicas of the version before are replaced, some of them may not lock what they are about to refer to.
    this.polling.beginLater();
  }

  onApplicationShutdown(): Promise<void> {
    return this.polling.end();
  }

  /** Goes through all claim sets once, a slice after the other, unless another replica is at it. */
  async run(): Promise<void> {
    let deleted = 0;
    for (let after: number | null = 0; after !== null && !this.polling.hasEnded;) {
      const slice = await this.unused.deleteSlice(after);
      deleted += slice.deleted;
      after = slice.reached;
      if (after !== null) await sleep(PAUSE_MS);
    }
    if (deleted > 0) this.logger.log({ deleted }, 'Claim sets that nothing uses were deleted');
  }
}
