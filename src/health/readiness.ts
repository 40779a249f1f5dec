import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { isDatabaseUnreachable } from '../database/database-errors.js';

/** How long readiness waits for the first syncs. The limit keeps a hanging source from blocking the server. */
const FIRST_SYNC_TIMEOUT_MS = 15_000;

/** Tracks whether this process is ready. */
export class Readiness {
  private reachDatabase: (() => Promise<void>) | null = null;
  private draining = false;

  /** @param reachDatabase rejects while PostgreSQL is unreachable. */
  markStarted(reachDatabase: () => Promise<void>): void {
    this.reachDatabase = reachDatabase;
  }

  /** Makes the process not ready, because it is stopping. */
  markDraining(): void {
    this.draining = true;
  }

  /** @throws the error of the database. */
  async isReady(): Promise<boolean> {
    if (!this.reachDatabase || this.draining) return false;
    await this.reachDatabase();
    return !this.draining;
  }
}

/**
 * Waits a limited time for the first sync of every source, because a new catalog is empty until then.
 *
 * @param areDone whether the first sync of every source has finished, successfully or not.
 */
export async function waitForFirstSyncs(
  areDone: () => Promise<boolean>,
  logger: Logger,
  stopping: AbortSignal,
): Promise<void> {
  const deadline = Date.now() + FIRST_SYNC_TIMEOUT_MS;
  while (!stopping.aborted && !(await areDone().catch(unknownIfUnreachable))) {
    if (Date.now() > deadline) {
      logger.warn('Some sources have not finished their first sync yet; serving the entries synced so far');
      return;
    }
    await pause(50);
  }
}

function unknownIfUnreachable(error: unknown): boolean {
  if (!isDatabaseUnreachable(error)) throw error;
  return false;
}
