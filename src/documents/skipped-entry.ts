import type { EntryType } from './entry-types.js';

/** How many skipped versions the admin API shows one by one, for any kind of source; all are counted. */
export const MAX_SHOWN_SKIPPED = 500;

/** A version that a sync skipped, as the admin API shows it. */
export interface SkippedEntry {
  readonly type: EntryType;
  /** Its place in its list; absent for objects of a cluster. */
  readonly index?: number;
  readonly name: string | null;
  readonly version: string | null;
  readonly reasons: string[];
}
