import type { VersionName } from '../documents/entry-types.js';

/** A stored version without its document. */
export interface StoredVersion extends VersionName {
  readonly entryId: string;
  readonly versionId: string;
  readonly versionKey: string;
  readonly digest: Buffer;
  readonly status: string;
  readonly statusMessage: string | null;
  /** Milliseconds since 1970. */
  readonly statusChangedAt: number;
  /** Milliseconds since 1970. */
  readonly publishedAt: number;
}
