import { Places } from './places.js';

/** How long a request waits for its turn while others of the same caller are served. */
export const TURN_TIMEOUT_MS = 10_000;
/** Of the connections of the pool, how many may read pages at a time, and how many may change something. */
const READS = 0.4;
const CHANGES = 0.2;
const LISTS = 1;

/**
 * How the connections of the pool are shared out. The rest is left to what is short and what everything waits for: looking
 * whether a page that is kept is still good, finding what a request names, syncs. Whoever asks for much waits for themselves.
 */
export class PoolShares {
  readonly reads: Places;
  readonly changes: Places;
  /** For complete lists of entries, which are made in memory. */
  readonly lists = new Places(LISTS);
  /** For what readers ask for that is as long: they do not wait for those who manage something. */
  readonly exports = new Places(LISTS);

  /** @param connections of the pool. */
  constructor(connections: number) {
    this.reads = new Places(Math.max(1, Math.floor(READS * connections)));
    this.changes = new Places(Math.max(1, Math.floor(CHANGES * connections)));
  }
}
