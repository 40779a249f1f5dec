import type { EntryType, Status } from './statuses.js';

/** What tells an entry from all others of its source. */
export interface EntryName {
  readonly type: EntryType;
  readonly name: string;
}

/** One version of one entry, by name. */
export interface VersionName extends EntryName {
  readonly version: string;
}

/** One validated version on its way into the database. */
export interface IncomingVersion extends VersionName {
  /** As it will be served, in UTF-8: a string would take twice as much for one character beyond Latin-1. */
  readonly document: Buffer;
  /** SHA-256 of that. */
  readonly digest: Buffer;
  readonly status: Status;
  readonly searchText: string;
  /** What another registry adds to the document. What is absent is decided here. */
  readonly statusMessage?: string;
  readonly statusChangedAt?: Date;
  readonly publishedAt?: Date;
  /** Whether that registry calls it the latest version of its entry: then it is the newest here too (contract §6). */
  readonly isUpstreamLatest?: boolean;
}

/** Names as keys of maps and sets. Neither a name nor a version holds a NUL, so the parts can't run into each other. */
export function entryMapKey({ type, name }: EntryName): string {
  return `${type}\0${name}`;
}

export function versionMapKey({ type, name, version }: VersionName): string {
  return `${type}\0${name}\0${version}`;
}

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

/** What the registry, not the publisher, states about a version. Times are dates, or RFC 3339 text in UTC. */
export interface VersionState {
  readonly status: Status;
  readonly statusChangedAt: Date | string;
  readonly statusMessage: string | null;
  readonly publishedAt: Date | string;
  readonly updatedAt: Date | string;
  readonly isLatest: boolean;
}

/** The `_meta` beside a document (contract §6), as JSON. */
export function officialMeta(state: VersionState): string {
  const official = {
    status: state.status,
    statusChangedAt: state.statusChangedAt,
    ...(state.statusMessage === null ? {} : { statusMessage: state.statusMessage }),
    publishedAt: state.publishedAt,
    updatedAt: state.updatedAt,
    isLatest: state.isLatest,
  };
  return `{"io.modelcontextprotocol.registry/official":${JSON.stringify(official)}}`;
}
