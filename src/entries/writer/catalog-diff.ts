import { batches } from './batches.js';
import type { EntryType } from '../../documents/entry-types.js';
import type { IncomingVersion } from '../../documents/incoming-version.js';

/** Versions compared at a stretch: some milliseconds. */
const BATCH = 1_000;

/** One version as it stands in the database, without its document. */
export interface StoredVersion {
  readonly entryId: string;
  readonly versionId: string;
  readonly type: EntryType;
  readonly name: string;
  readonly version: string;
  readonly digest: Buffer;
  readonly status: string;
  readonly statusMessage: string | null;
  /** Milliseconds since 1970. */
  readonly statusChangedAt: number;
  readonly publishedAt: number;
}

/** What has to be written to make a source's rows equal its content. */
export interface CatalogDiff {
  readonly added: IncomingVersion[];
  readonly changed: { readonly stored: StoredVersion; readonly incoming: IncomingVersion }[];
  readonly gone: StoredVersion[];
  readonly unchanged: number;
}

/**
 * Compares by (type, name, version); a version's documents by digest, and what is said beside them. Both sides hold each
 * version once.
 */
export async function diffCatalog(
  stored: readonly StoredVersion[],
  incoming: readonly IncomingVersion[],
): Promise<CatalogDiff> {
  const left = new Map<string, StoredVersion>();
  for await (const batch of batches(stored, BATCH))
    for (const version of batch) left.set(keyOf(version), version);
  const diff: CatalogDiff & { unchanged: number } = { added: [], changed: [], gone: [], unchanged: 0 };
  for await (const batch of batches(incoming, BATCH))
    for (const version of batch) {
      const key = keyOf(version);
      const known = left.get(key);
      left.delete(key);
      if (!known) diff.added.push(version);
      else if (isSame(known, version)) diff.unchanged += 1;
      else diff.changed.push({ stored: known, incoming: version });
    }
  return { ...diff, gone: [...left.values()] };
}

// A source that says nothing of a time leaves the one that was written down when the version came.
function isSame(stored: StoredVersion, incoming: IncomingVersion): boolean {
  const isSameTime = (kept: number, said: Date | undefined) => said === undefined || said.getTime() === kept;
  return (
    stored.digest.equals(incoming.digest) &&
    stored.status === incoming.status &&
    stored.statusMessage === (incoming.statusMessage ?? null) &&
    isSameTime(stored.statusChangedAt, incoming.statusChangedAt) &&
    isSameTime(stored.publishedAt, incoming.publishedAt)
  );
}

// Neither a name nor a version holds a NUL, so the parts can't run into each other.
function keyOf({ type, name, version }: Pick<StoredVersion, 'type' | 'name' | 'version'>): string {
  return `${type}\0${name}\0${version}`;
}
