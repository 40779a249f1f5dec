import { Semaphore } from '../limits/semaphore.js';

/** Shares of the pool's connections that each kind of work may use. */
const READS = 0.4;
const CHANGES = 0.2;

/**
 * Limits how many pool connections each kind of work uses. The remaining connections serve short statements that other
 * work waits for: loading views, resolving a request's resources, syncing.
 */
export class PoolSemaphores {
  /** Reads of catalog pages. */
  readonly reads: Semaphore;
  readonly changes: Semaphore;
  /** Reads by callers who read large pages: decoding and sending a page of 1 MiB takes the event loop 10 ms. */
  readonly largeReads = new Semaphore(1);
  /** Complete lists of entries, which are built in memory. */
  readonly lists = new Semaphore(1);
  /** Long reads by consumers, which must not wait for `lists`. */
  readonly exports = new Semaphore(1);

  /** @param connections size of the pool. */
  constructor(connections: number) {
    this.reads = new Semaphore(Math.max(1, Math.floor(READS * connections)));
    this.changes = new Semaphore(Math.max(1, Math.floor(CHANGES * connections)));
  }
}
