import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';

/** Longest wait of the readiness for the first syncs: a source that hangs must not keep the others from being served. */
const FIRST_SYNC_TIMEOUT_MS = 15_000;

/** Whether this process is ready, as the internal server reports it. */
export class Readiness {
  private started = false;
  private draining = false;

  /** @param reachesDatabase resolves to false while PostgreSQL is not reachable. */
  constructor(private reachesDatabase: () => Promise<boolean> = async () => false) {}

  /** The API can answer from now on, as long as the database does. */
  markStarted(reachesDatabase: () => Promise<boolean>): void {
    this.reachesDatabase = reachesDatabase;
    this.started = true;
  }

  /** The process is about to end: no new requests, please. */
  markDraining(): void {
    this.draining = true;
  }

  async isReady(): Promise<boolean> {
    return this.started && !this.draining && (await this.reachesDatabase());
  }
}

/**
 * A fresh catalogue is empty until its sources have been read once. Readiness waits for that, within reason.
 *
 * @param areDone whether each source has been read once, well or not.
 */
export async function waitForFirstSyncs(
  areDone: () => Promise<boolean>,
  logger: Logger,
  stopping: AbortSignal,
): Promise<void> {
  const deadline = Date.now() + FIRST_SYNC_TIMEOUT_MS;
  while (!stopping.aborted && !(await areDone())) {
    if (Date.now() > deadline) {
      logger.warn('Some sources have not ended their first sync yet; serving what is there');
      return;
    }
    await pause(50);
  }
}
