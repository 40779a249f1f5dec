import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  entryMapKey,
  type IncomingVersion,
  versionMapKey,
  type VersionName,
} from '../../documents/entry-types.js';
import { versionColumns, versionKeyOf } from '../entry.entity.js';
import { precedes } from '../latest-version.queries.js';

/** Splits items into batches and yields to the event loop after each batch. */
export async function* batches<T>(items: readonly T[], size: number): AsyncGenerator<T[]> {
  for (let start = 0; start < items.length; start += size) {
    yield items.slice(start, start + size);
    await nextTurn();
  }
}

/**
 * Like `batches`, but with at most `maxItems` items and weight `maxWeight` per batch, unless a single item is heavier.
 */
export async function* weighedBatches<T>(
  items: readonly T[],
  maxItems: number,
  maxWeight: number,
  weightOf: (item: T) => number,
): AsyncGenerator<T[]> {
  let batch: T[] = [];
  let weight = 0;
  for (const item of items) {
    const more = weightOf(item);
    if (batch.length >= maxItems || (batch.length > 0 && weight + more > maxWeight)) {
      yield batch;
      await nextTurn();
      batch = [];
      weight = 0;
    }
    batch.push(item);
    weight += more;
  }
  if (batch.length > 0) yield batch;
}

/** Number of versions to compare before yielding to the event loop; comparing them takes a few milliseconds. */
const BATCH = 1_000;

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

/** The writes that bring a source's rows in line with its content. */
export interface CatalogDiff {
  readonly added: IncomingVersion[];
  readonly changed: { readonly stored: StoredVersion; readonly incoming: IncomingVersion }[];
  /** Versions with unchanged content but a new position in the version order. */
  readonly moved: { readonly stored: StoredVersion; readonly versionKey: string }[];
  /** Versions whose document stays, but not their status. */
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
export async function diffCatalog(
  stored: readonly StoredVersion[],
  incoming: readonly IncomingVersion[],
  isOutdated: (version: VersionName) => boolean = () => false,
): Promise<CatalogDiff> {
  const remaining = new Map<string, StoredVersion>();
  for await (const batch of batches(stored, BATCH))
    for (const version of batch) remaining.set(versionMapKey(version), version);
  const diff: CatalogDiff & { unchanged: number } = {
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
