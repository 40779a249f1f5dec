import type { VersionName } from '../documents/incoming-version.js';
import type { SyncedKind } from '../source-kinds/kinds.js';
import type { LeasedSource } from '../sources/source-leases.queries.js';
import type { ReadEntries } from './entry-reader.js';
import type { MemoryShare } from './read-memory.js';

/** Why a source could not be fetched, as a sentence for the operator. It names no secret. */
export class FetchError extends Error {
  /** @param retryAfterMs the pause that the upstream asks for, from now; null when it asks for none. */
  constructor(
    message: string,
    readonly retryAfterMs: number | null = null,
  ) {
    super(message);
  }
}

/**
 * What a fetcher keeps for its next run, such as an ETag or a commit; JSON. Dropped when the settings or the filter
 * of the source change, or the rules by which content is read.
 */
export type FetchState = Readonly<Record<string, unknown>>;

/** What one run fetched from its source. */
export type Fetched =
  /** Nothing has changed since the state that was handed in. */
  | { readonly kind: 'unchanged'; readonly state: FetchState }
  /** A registry file, to be read and compared. */
  | { readonly kind: 'file'; readonly bytes: Buffer; readonly digest: Buffer; readonly state: FetchState }
  /** Everything the source has, read and validated. */
  | { readonly kind: 'entries'; readonly content: ReadEntries; readonly state: FetchState }
  /** What has changed since the state that was handed in, read and validated; the rest stays. */
  | {
      readonly kind: 'changes';
      readonly content: ReadEntries;
      readonly gone: readonly VersionName[];
      readonly state: FetchState;
    };

/** Fetches what a source of one kind holds. Outside any transaction. */
export abstract class Fetcher<K extends SyncedKind> {
  /**
   * @param state what the last successful run of this source left; null for the first one.
   * @param signal aborts when the server stops, the lease is lost, or the run has to end for what it holds.
   * @param memory is told of what is read and kept.
   * @throws FetchError
   */
  abstract fetch(
    source: LeasedSource<K>,
    state: FetchState | null,
    signal: AbortSignal,
    memory: MemoryShare,
  ): Promise<Fetched>;
}

/** Connections to one upstream at a time. */
export const MAX_CONNECTIONS = 8;

// What is read of another MCP registry in one run.
export const MAX_RUN_MS = 60 * 60 * 1_000;
export const MAX_PAGES = 20_000;
export const MAX_PAGE_BYTES = 16 * 1024 * 1024;
/** Pages in a row that bring nothing that was not there before, from a list that never ends. */
export const MAX_EMPTY_PAGES = 100;
export const MAX_VERSIONS = 500_000;
/** Of all documents together. */
export const MAX_BYTES = 128 * 1024 * 1024;
