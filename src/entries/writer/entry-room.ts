import type { EntityManager } from 'typeorm';
import type { LimitsConfig } from '../../config/config.js';
import { transactionTime } from '../../database/locks.js';
import { formatProblem, publisherBlockProblem } from '../../documents/document-check.js';
import {
  entryMapKey,
  type EntryName,
  type IncomingVersion,
  versionMapKey,
  type VersionName,
} from '../../documents/entry-types.js';
import { batches } from '../../limits/batches.js';
import { pauseIfDue } from '../../limits/time-slice.js';
import { versionKeyOf } from '../../entry-store/entry.entity.js';
import {
  type StorableVersion,
  type EntryLimits,
  type EntrySize,
  findExceeded,
  isAmong,
  type RefusedVersion,
  refusedVersions,
} from '../../entry-store/entry-limits.queries.js';
import { sizedVersions, sizesOfEntries, versionsAmong } from './stored-versions.queries.js';

const VERSIONS_PER_BATCH = 1_000;

/**
 * Splits versions into those to store and those that exceed a limit or for which their entry has no room (reference/limits).
 *
 * @param gone versions to remove, if `incoming` contains only changes; null if it contains all versions of its entries.
 * @returns in `refused`, also stored versions that must make room for newer ones.
 */
export async function fittingVersions(
  manager: EntityManager,
  sourceId: number,
  incoming: readonly IncomingVersion[],
  gone: readonly VersionName[] | null,
  limits: EntryLimits & Pick<LimitsConfig, 'publisherMeta'>,
): Promise<{ readonly fitting: readonly IncomingVersion[]; readonly refused: readonly RefusedVersion[] }> {
  const refused = await withLongBlocks(manager, sourceId, incoming, limits.publisherMeta);
  const isTooLong = isAmong(refused);
  const room = await withRoom(
    manager,
    sourceId,
    refused.length === 0 ? incoming : incoming.filter((version) => !isTooLong(version)),
    gone,
    limits,
  );
  return { fitting: room.fitting, refused: [...refused, ...room.refused] };
}

/** Returns the versions whose publisher's block is longer than `maxBytes`, unless the same document is stored already. */
async function withLongBlocks(
  manager: EntityManager,
  sourceId: number,
  incoming: readonly IncomingVersion[],
  maxBytes: number,
): Promise<RefusedVersion[]> {
  const long: (RefusedVersion & Pick<IncomingVersion, 'digest'>)[] = [];
  for (const { type, name, version, document, digest } of incoming) {
    const problem = publisherBlockProblem(document, maxBytes);
    if (problem) long.push({ type, name, version, digest, reason: formatProblem(problem) });
    await pauseIfDue();
  }
  if (long.length === 0) return [];
  const stored = new Map(
    (await versionsAmong(manager, sourceId, long)).map((version) => [versionMapKey(version), version.digest]),
  );
  return long.filter((version) => !stored.get(versionMapKey(version))?.equals(version.digest));
}

async function withRoom(
  manager: EntityManager,
  sourceId: number,
  incoming: readonly IncomingVersion[],
  gone: readonly VersionName[] | null,
  limits: EntryLimits,
): Promise<{ readonly fitting: readonly IncomingVersion[]; readonly refused: readonly RefusedVersion[] }> {
  const sizes = await sizesByEntry(incoming);
  // Upper bounds, because a changed version counts twice.
  if (gone)
    for (const stored of await sizesOfEntries(manager, sourceId, [...sizes.values()])) addSize(sizes, stored);
  const full = [...sizes].filter(([, size]) => findExceeded(size, limits) !== undefined);
  if (full.length === 0) return { fitting: incoming, refused: [] };
  const incomingOf = new Map(full.map(([key]) => [key, new Map<string, IncomingVersion>()]));
  for (const version of incoming) incomingOf.get(entryMapKey(version))?.set(version.version, version);
  const isGone = isAmong(gone ?? []);
  const now = (await transactionTime(manager)).getTime();
  const refused: RefusedVersion[] = [];
  for (const [key, entry] of full) {
    const stored = await sizedVersions(manager, sourceId, entry);
    const storedAt = new Map(stored.map(({ version, publishedAt }) => [version, publishedAt]));
    const added = incomingOf.get(key) ?? new Map<string, IncomingVersion>();
    const candidates = [...added.values()].map((version): StorableVersion => {
      const publishedAt = storedAt.get(version.version) ?? now;
      return {
        ...version,
        versionKey: versionKeyOf(version, { publishedAt }),
        bytes: documentBytes(version),
      };
    });
    const staying = gone ? stored.filter((one) => !isGone(one) && !added.has(one.version)) : [];
    const size = { versions: stored.length, bytes: stored.reduce((sum, { bytes }) => sum + bytes, 0) };
    refused.push(...(await refusedVersions([...candidates, ...staying], size, limits)));
  }
  const isRefused = isAmong(refused);
  return { fitting: incoming.filter((version) => !isRefused(version)), refused };
}

/** Returns the sizes of the entries of these versions, by `entryMapKey`. */
async function sizesByEntry(
  versions: readonly IncomingVersion[],
): Promise<Map<string, EntryName & EntrySize>> {
  const sizes = new Map<string, EntryName & EntrySize>();
  for await (const batch of batches(versions, VERSIONS_PER_BATCH))
    for (const version of batch)
      addSize(sizes, { ...nameOf(version), versions: 1, bytes: documentBytes(version) });
  return sizes;
}

function addSize(sizes: Map<string, EntryName & EntrySize>, added: EntryName & EntrySize): void {
  const key = entryMapKey(added);
  const { versions = 0, bytes = 0 } = sizes.get(key) ?? {};
  sizes.set(key, { ...added, versions: versions + added.versions, bytes: bytes + added.bytes });
}

function nameOf({ type, name }: EntryName): EntryName {
  return { type, name };
}

export function documentBytes({ document }: IncomingVersion): number {
  return document.length;
}
