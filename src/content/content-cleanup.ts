import { Injectable, Logger } from '@nestjs/common';
import { deleteInSlices, Polling } from '../database/polling.js';
import { removeGitLeftovers } from '../git/git-connection.js';
import { removeContentLeftovers } from './archive.js';
import { ContentStore } from './content-store.queries.js';

const EVERY_MS = 5 * 60_000;
/** Maximum number of files, and of trees, per transaction; uploads wait for it. */
const SLICE = 100;

/**
 * Deletes content that no version has anymore, on one replica at a time, and the temporary folders left by killed
 * servers.
 */
@Injectable()
export class ContentCleanup extends Polling {
  constructor(private readonly store: ContentStore) {
    super(EVERY_MS, new Logger('content'), { failed: 'Deleting unused content failed; it will be retried' });
  }

  override onApplicationBootstrap(): void {
    void removeFolders();
    this.beginLater();
  }

  protected async poll(): Promise<void> {
    await removeFolders();
    const deleted = await deleteInSlices(this, SLICE, (rows) => this.store.deleteUnused(rows));
    if (deleted > 0) this.logger.log({ deleted }, 'Deleted unused content');
  }
}

/** Content is unpacked into the first folder and fetched into the second. Never rejects. */
async function removeFolders(): Promise<void> {
  await removeContentLeftovers();
  await removeGitLeftovers();
}
