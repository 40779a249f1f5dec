import type { VersionName } from '../documents/entry-types.js';
import type { GitTree } from '../git/git-tree.js';
import type { SyncedKind } from '../source-kinds/kinds.js';
import type { LeasedSource } from '../sources/source-leases.queries.js';
import type { ReadEntries } from './entry-validator.js';
import type { MemoryShare } from './read-memory.js';

/**
 * JSON that a fetcher stores for the next run, such as an ETag or a commit. It is discarded when the source's settings,
 * its filter or the rules for reading content change.
 */
export type FetchState = Readonly<Record<string, unknown>>;

/** The result of fetching a source. */
export type Fetched =
  /** Nothing has changed since the previous state. */
  | { readonly kind: 'unchanged'; readonly state: FetchState }
  /** A file, not yet parsed. */
  | { readonly kind: 'file'; readonly bytes: Buffer; readonly state: FetchState }
  /** A commit, not yet read. The recipient closes it. */
  | { readonly kind: 'tree'; readonly tree: GitTree; readonly state: FetchState }
  /** The validated content of the whole source. */
  | { readonly kind: 'entries'; readonly content: ReadEntries; readonly state: FetchState }
  /** The validated changes since the previous state. */
  | {
      readonly kind: 'changes';
      readonly content: ReadEntries;
      readonly gone: readonly VersionName[];
      readonly state: FetchState;
    };

/** Fetches the content of sources of one kind, outside any transaction. */
export abstract class Fetcher<K extends SyncedKind> {
  /**
   * @param state the state of the last successful run; null for the first run.
   * @param signal aborts when the server stops, the lease is lost, or the run must release its memory.
   * @param memory counts the bytes that the run holds in memory.
   * @throws FetchError
   */
  abstract fetch(
    source: LeasedSource<K>,
    state: FetchState | null,
    signal: AbortSignal,
    memory: MemoryShare,
  ): Promise<Fetched>;
}

/** Maximum number of concurrent connections to one upstream. */
export const MAX_CONNECTIONS = 8;
