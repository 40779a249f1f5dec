import {
  entryMapKey,
  type IncomingVersion,
  versionMapKey,
  type VersionName,
} from '../../documents/entry-types.js';
import { batches } from '../../limits/batches.js';
import { type StoredVersion, versionColumns, versionKeyOf } from '../../entry-store/entry.entity.js';
import { precedes } from '../../entry-store/latest-version.queries.js';

/** Number of versions to compare before yielding to the event loop; comparing them takes a few milliseconds. */
const BATCH = 1_000;

/** The writes that bring a source's rows in line with its content. */
export interface VersionDiff {
  readonly added: IncomingVersion[];
  readonly changed: { readonly stored: StoredVersion; readonly incoming: IncomingVersion }[];
  /** Versions with unchanged content but a new position in the version order. */
  readonly moved: { readonly stored: StoredVersion; readonly versionKey: string }[];
  /** Versions whose document is unchanged but whose status is not. */
  readonly restated: { readonly stored: StoredVersion; readonly incoming: IncomingVersion }[];
  readonly gone: StoredVersion[];
  readonly unchanged: number;
}

/**
 * Matches versions by type, name and version, then compares their digests, statuses and times. Neither side may contain
 * a version twice.
 *
 * @param isOutdated whether an equal version must be written again.
 */
export async function diffVersions(
  stored: readonly StoredVersion[],
  incoming: readonly IncomingVersion[],
  isOutdated: (version: VersionName) => boolean = () => false,
): Promise<VersionDiff> {
  const remaining = new Map<string, StoredVersion>();
  for await (const batch of batches(stored, BATCH))
    for (const version of batch) remaining.set(versionMapKey(version), version);
  const diff: VersionDiff & { unchanged: number } = {
    added: [],
    changed: [],
    moved: [],
    restated: [],
    gone: [],
    unchanged: 0,
  };
  for await (const batch of batches(incoming, BATCH))
    for (const version of batch) {
      const key = versionMapKey(version);
      const known = remaining.get(key);
      remaining.delete(key);
      if (!known) diff.added.push(version);
      else if (!isSame(known, version) || isOutdated(version))
        diff.changed.push({ stored: known, incoming: version });
      else {
        const versionKey = versionKeyOf(version, known);
        if (versionKey === known.versionKey) diff.unchanged += 1;
        else diff.moved.push({ stored: known, versionKey });
      }
    }
  return { ...diff, gone: [...remaining.values()] };
}

// If the source does not provide a time, the stored time is kept.
function isSame(stored: StoredVersion, incoming: IncomingVersion): boolean {
  return (
    stored.digest.equals(incoming.digest) &&
    hasSameStatus(stored, incoming) &&
    isSameTime(stored.publishedAt, incoming.publishedAt)
  );
}

export function hasSameStatus(stored: StoredVersion, incoming: IncomingVersion): boolean {
  return (
    stored.status === incoming.status &&
    stored.statusMessage === (incoming.statusMessage ?? null) &&
    isSameTime(stored.statusChangedAt, incoming.statusChangedAt)
  );
}

function isSameTime(kept: number, given: Date | undefined): boolean {
  return given === undefined || given.getTime() === kept;
}

/** Returns the latest version of each entry created in this run, and all added versions of existing entries. */
export async function splitByEntry(
  added: readonly IncomingVersion[],
  created: ReadonlyMap<string, string>,
  now: Date,
): Promise<{ readonly latest: ReadonlySet<IncomingVersion>; readonly others: readonly IncomingVersion[] }> {
  const latest = new Map<string, IncomingVersion>();
  const others: IncomingVersion[] = [];
  for await (const batch of batches(added, BATCH))
    for (const version of batch) {
      const entry = entryMapKey(version);
      if (!created.has(entry)) {
        others.push(version);
        continue;
      }
      const other = latest.get(entry);
      if (!other || precedes(versionColumns(version, now), versionColumns(other, now)))
        latest.set(entry, version);
    }
  return { latest: new Set(latest.values()), others };
}
