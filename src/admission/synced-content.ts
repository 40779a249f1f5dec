import type { Claims } from '../claims/claims.js';
import type { EntryName, IncomingVersion, VersionName } from '../documents/entry-types.js';
import type { VersionWithContent } from '../entry-store/entry-content.queries.js';
import type { RefusedVersion } from '../entry-store/entry-limits.queries.js';
import type { StoredVersion } from '../entry-store/entry.entity.js';

/** The versions that a sync read, and the stored versions of the source. */
export interface SyncedContent {
  readonly sourceId: number;
  readonly incoming: readonly IncomingVersion[];
  /** The stored versions, at least those in `incoming`. */
  readonly stored: readonly StoredVersion[];
  /** Whether the source no longer has a version that is not in `incoming`. */
  readonly isGone: (version: VersionName) => boolean;
  /** The claims of an entry; null if it has the claims of the source. */
  readonly claimsOf: ((version: IncomingVersion) => Claims) | null;
  /**
   * Whether a stored document may stay while this one is held: only if its entry keeps its claims. Its readers may not
   * satisfy the new claims, and readers who satisfy these may never have been allowed to see it.
   */
  readonly mayStay: (stored: StoredVersion, incoming: IncomingVersion) => boolean;
}

/** The blocks that a decision was based on. */
export type ConsideredBlocks = readonly { readonly id: string; readonly revision: string }[];

export interface AdmittedContent {
  /** The versions to store. */
  readonly admitted: readonly IncomingVersion[];
  /** Whether to keep a stored version that is missing from `admitted`. */
  readonly stays: (version: VersionName) => boolean;
  /** The number of stored versions that are kept that way. */
  readonly staying: number;
  /** The entries that a rule rejects, so that none of their versions stays. */
  readonly takenBack: readonly EntryName[];
  /** Whether an unchanged version must be written again, because the rewrite rules now produce another document. */
  readonly isOutdated: (version: VersionName) => boolean;
  /** The content of versions that were held with content. */
  readonly contents: readonly VersionWithContent[];
  readonly rejected: readonly RefusedVersion[];
  /** Number of versions of the source that are now held. */
  readonly held: number;
  readonly blocks: ConsideredBlocks;
}
