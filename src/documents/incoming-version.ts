import type { EntryType, Status } from './statuses.js';

/** Identifies an entry within its source. */
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
  /** As served, in UTF-8: one character beyond Latin-1 would double the memory of a string. */
  readonly document: Buffer;
  /** SHA-256 of the document. */
  readonly digest: Buffer;
  readonly status: Status;
  readonly searchText: string;
  /** These come from another registry; absent members are decided here. */
  readonly statusMessage?: string;
  readonly statusChangedAt?: Date;
  readonly publishedAt?: Date;
  /** Whether the upstream registry calls it latest; then it is the newest here too (contract §6). */
  readonly isUpstreamLatest?: boolean;
}

/** Map key of an entry. Names and versions contain no NUL, so keys are unambiguous. */
export function entryMapKey({ type, name }: EntryName): string {
  return `${type}\0${name}`;
}

export function versionMapKey({ type, name, version }: VersionName): string {
  return `${type}\0${name}\0${version}`;
}

/** Skipped versions that the admin API lists; all are counted. */
export const MAX_SHOWN_SKIPPED = 500;

/** A version that a sync skipped, as the admin API shows it. */
export interface SkippedEntry {
  readonly type: EntryType;
  /** Its index in the list; absent for cluster objects. */
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

/** Returns the `_meta` of a version (contract §6), as JSON. */
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
