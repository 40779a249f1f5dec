import type { EntryType } from './entry-types.js';

/** One version of one entry, by name. */
export interface VersionName {
  readonly type: EntryType;
  readonly name: string;
  readonly version: string;
}

/** One validated version on its way into the database. `text` is the document as it will be served. */
export interface IncomingVersion extends VersionName {
  readonly text: string;
  /** SHA-256 of `text`. */
  readonly digest: Buffer;
  readonly status: string;
  readonly searchText: string;
  /** What another registry says of the version beside its document. What is absent is decided here. */
  readonly statusMessage?: string;
  readonly statusChangedAt?: Date;
  readonly publishedAt?: Date;
}
