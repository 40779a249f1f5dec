import { setImmediate as nextTurn } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import type { EntityManager } from 'typeorm';
import type { LimitsConfig } from '../config/config.js';
import { limitsConfig } from '../config/slices.js';
import { ENTRY_TYPE_NAMES, versionMapKey, type VersionName } from '../documents/entry-types.js';
import { ApiError } from '../http/errors.js';
import { SourcePartition } from './entry.entity.js';

/** The versions of one entry, including `deleted` ones. */
export interface EntrySize {
  readonly versions: number;
  /** Bytes of the documents. */
  readonly bytes: number;
}

export const NO_VERSIONS: EntrySize = { versions: 0, bytes: 0 };

/** Returns the size of two groups of versions together. */
export function sumOf(one: EntrySize, other: EntrySize): EntrySize {
  return { versions: one.versions + other.versions, bytes: one.bytes + other.bytes };
}

export type EntryLimits = Pick<LimitsConfig, keyof typeof NOUNS>;

const NOUNS = { versionsPerEntry: 'versions', bytesPerEntry: 'bytes of documents' } as const;

/** Returns the limit that an entry of this size exceeds (reference/configuration). */
export function findExceeded(
  { versions, bytes }: EntrySize,
  { versionsPerEntry, bytesPerEntry }: EntryLimits,
): keyof EntryLimits | undefined {
  if (versions > versionsPerEntry) return 'versionsPerEntry';
  return bytes > bytesPerEntry ? 'bytesPerEntry' : undefined;
}

/** Describes an exceeded limit: `more than 1000 versions (limits.versionsPerEntry)`. */
export function describeExcess(limit: keyof EntryLimits, limits: EntryLimits): string {
  return `more than ${limits[limit]} ${NOUNS[limit]} (limits.${limit})`;
}

/** A version that a sync could store. */
export interface StorableVersion extends VersionName {
  readonly versionKey: string;
  readonly bytes: number;
}

/** A version that a sync does not store, or no longer stores. */
export interface RefusedVersion extends VersionName {
  readonly reason: string;
}

/** Number of versions to sort before yielding to the event loop. */
const BATCH = 1_000;

/**
 * Chooses the versions of one entry that a sync does not store: all but the newest that fit the limits together. A
 * version that exceeds `bytesPerEntry` alone does not keep older ones out.
 *
 * @param candidates all versions of the entry, in any order.
 * @param stored the entry's current size. An entry that exceeds a lowered limit may keep its size, but not grow.
 */
export async function refusedVersions(
  candidates: readonly StorableVersion[],
  stored: EntrySize,
  limits: EntryLimits,
): Promise<RefusedVersion[]> {
  const most: EntryLimits = {
    versionsPerEntry: Math.max(limits.versionsPerEntry, stored.versions),
    bytesPerEntry: Math.max(limits.bytesPerEntry, stored.bytes),
  };
  const refused: RefusedVersion[] = [];
  const refuse = (limit: keyof EntryLimits) => {
    const reason = `entry_full: the entry would have ${describeExcess(limit, limits)}, so only the newest are stored`;
    return ({ type, name, version }: StorableVersion) => void refused.push({ type, name, version, reason });
  };
  let newest: StorableVersion[] = [];
  for (let start = 0; start < candidates.length; start += BATCH) {
    const batch = candidates.slice(start, start + BATCH);
    batch.filter(({ bytes }) => bytes > most.bytesPerEntry).forEach(refuse('bytesPerEntry'));
    const fitting = batch.filter(({ bytes }) => bytes <= most.bytesPerEntry);
    newest = [...newest, ...fitting].sort(newestFirst);
    newest.splice(most.versionsPerEntry).forEach(refuse('versionsPerEntry'));
    await nextTurn();
  }
  let total = 0;
  const end = newest.findIndex(({ bytes }) => (total += bytes) > most.bytesPerEntry);
  if (end !== -1) newest.slice(end).forEach(refuse('bytesPerEntry'));
  return refused;
}

// Keys compare by bytes, as in the database; UTF-16 order differs.
function newestFirst(one: StorableVersion, other: StorableVersion): number {
  return Buffer.compare(Buffer.from(other.versionKey), Buffer.from(one.versionKey));
}

/** Returns a predicate that recognizes these versions. */
export function isAmong(versions: readonly VersionName[]): (version: VersionName) => boolean {
  const keys = new Set(versions.map(versionMapKey));
  return (version) => keys.has(versionMapKey(version));
}

const RETRY_AFTER_SECONDS = '60';

/** Limits the partitions that publishers can create, since all of them must be evaluated for each caller's view. */
@Injectable()
export class PartitionLimit {
  constructor(@Inject(limitsConfig.KEY) private readonly limits: ConfigType<typeof limitsConfig>) {}

  /**
   * Enforces `claimSetsPerSource` (reference/configuration). Call it in the transaction that has just assigned this claim set to an
   * entry. Triggers have locked the source, so no other transaction can add a claim set. A claim set that other entries
   * already carry is always allowed.
   *
   * @throws ApiError 429 `too_many_requests`.
   */
  async check(manager: EntityManager, sourceId: number, claimSetId: number): Promise<void> {
    const carrying = await manager.query<object[]>(
      `select 1 from unnest($3::text[]) t(type)
       join entry e on e.source_id = $1 and e.type = t.type and e.claim_set_id = $2 limit 2`,
      [sourceId, claimSetId, ENTRY_TYPE_NAMES],
    );
    if (carrying.length > 1) return;
    if ((await manager.countBy(SourcePartition, { sourceId })) <= this.limits.claimSetsPerSource) return;
    throw new ApiError(
      'too_many_requests',
      `The managed source has reached its limit of ${this.limits.claimSetsPerSource} distinct claims: reuse existing claims, or delete entries`,
      undefined,
      { headers: { 'Retry-After': RETRY_AFTER_SECONDS } },
    );
  }
}

/** SQL: the size of the entry with this id, and whether it has this version. */
export const SIZE_OF_ENTRY = (id: string, version: string) =>
  `select count(*)::int as versions, coalesce(sum(octet_length(document)), 0)::float8 as bytes,
     coalesce(bool_or(version = ${version}), false) as "hasVersion"
   from entry_version where entry_id = ${id}`;
