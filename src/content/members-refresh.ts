import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { buffer } from 'node:stream/consumers';
import { DataSource } from 'typeorm';
import { ContentAdmission } from '../admission/content-admission.queries.js';
import { isLockConflict } from '../database/database-errors.js';
import { waitForLocks } from '../database/locks.js';
import { Polling } from '../database/polling.js';
import { ContentStore } from './content-store.queries.js';
import { foundIn } from './content-tree.js';

/** During a rolling upgrade, earlier versions of the server still store content. */
const EVERY_MS = 5 * 60_000;
/** Pause between trees, so that other statements can run. */
const PAUSE_MS = 20;

/** Reads members again if an earlier version of the server read them. */
@Injectable()
export class MembersRefresh extends Polling {
  constructor(
    private readonly dataSource: DataSource,
    private readonly store: ContentStore,
    private readonly admission: ContentAdmission,
  ) {
    super(EVERY_MS, new Logger('content'), {
      failed: 'Reading the members of stored content again failed; it will be retried',
    });
  }

  protected async poll(): Promise<void> {
    let read = 0;
    for (const digest of await this.store.outdatedTrees()) {
      if (this.hasEnded) return;
      if (await this.refresh(digest)) read += 1;
      await sleep(PAUSE_MS);
    }
    if (read > 0) this.logger.log({ trees: read }, 'Read the members of stored content again');
  }

  private async refresh(digest: string): Promise<boolean> {
    const tree = await this.store.tree(digest);
    if (!tree) return false;
    const found = await foundIn(tree.files, (file) => buffer(this.store.read(file.digest)));
    try {
      return await this.dataSource.transaction(async (manager) => {
        await waitForLocks(manager);
        if (!(await this.store.replaceMembers(manager, digest, found))) return false;
        await this.admission.judgeTree(manager, digest);
        return true;
      });
    } catch (error) {
      // The next run retries.
      if (isLockConflict(error)) return false;
      throw error;
    }
  }
}
