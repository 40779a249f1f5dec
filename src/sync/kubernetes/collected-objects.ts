import { canonicalClaims, type Claims } from '../../claims/claims.js';
import type { SkippedVersion } from '../../documents/entry-types.js';
import type { RefusedVersion } from '../../entry-store/entry-limits.queries.js';
import type { LabeledVersion } from '../../entries/writer/entry-writer.js';
import { pauseIfDue } from '../../limits/time-slice.js';
import { type StoredFilter, passesFilter } from '../../sources/entry-filter.js';
import type { Resource } from './custom-resources.js';
import { ENTRY_PREFIX, type ExportedServer, readStored, type SkippedObject } from './exported-object.js';
import type { StoredEntries } from './stored-entries.queries.js';

/** One kind in one namespace, or in all namespaces (null). */
interface Watched {
  readonly resource: { readonly kind: string };
  readonly namespace: string | null;
}

/** A stored entry that stays unchanged because its object cannot be listed. */
export interface RetainedEntry {
  readonly outcome: 'retained';
  readonly claims: Claims;
}

/**
 * The stored entries of the kinds and namespaces that this replica has not listed yet. Omits entries that the source's
 * filter excludes, because the filter may be newer than the entries.
 */
export class RetainedEntries<W extends Watched> {
  private constructor(private readonly byWatch: ReadonlyMap<W, Map<string, RetainedEntry>>) {}

  static none<W extends Watched>(): RetainedEntries<W> {
    return new RetainedEntries(new Map());
  }

  static async load<W extends Watched>(
    stored: StoredEntries,
    { id, filter }: { readonly id: number; readonly filter: StoredFilter | null },
    watches: readonly W[],
  ): Promise<RetainedEntries<W>> {
    if (watches.length === 0) return RetainedEntries.none();
    const byWatch = new Map(watches.map((watch) => [watch, new Map<string, RetainedEntry>()]));
    const prefixes = new Set(
      watches.map(({ namespace }) => (namespace === null ? ENTRY_PREFIX : `${ENTRY_PREFIX}${namespace}/`)),
    );
    for await (const { name, document, claims } of stored.beginningWith(id, [...prefixes])) {
      await pauseIfDue();
      const object = readStored(document);
      const watch = watches.find(
        ({ resource, namespace }) =>
          resource.kind === object?.kind &&
          (namespace === null || name.startsWith(`${ENTRY_PREFIX}${namespace}/`)),
      );
      if (!watch || !object || (filter && !passesFilter(filter, name, object.tags))) continue;
      byWatch.get(watch)?.set(name.slice(ENTRY_PREFIX.length), { outcome: 'retained', claims });
    }
    return new RetainedEntries(byWatch);
  }

  /** Returns the retained entries of a watch, by `namespace/name`. */
  of(watch: W): ReadonlyMap<string, RetainedEntry> {
    return this.byWatch.get(watch) ?? new Map<string, RetainedEntry>();
  }

  /** Drops the entries of a watch that has now been listed, and returns their names for writing or removal. */
  release(watch: W): string[] {
    const released = [...this.of(watch).keys()];
    this.byWatch.get(watch)?.clear();
    return released;
  }

  /** Drops entries that other objects have replaced. */
  forget(names: Iterable<string>): void {
    for (const name of names) for (const entries of this.byWatch.values()) entries.delete(name);
  }
}

/** The result of reading an object. */
export type ReadObject = ExportedServer | SkippedObject | { readonly outcome: 'filtered' };

/** The objects of a kind in one namespace or in all namespaces, by `namespace/name`. */
export interface KnownObjects {
  readonly resource: Resource;
  readonly objects: ReadonlyMap<string, ReadObject | RetainedEntry>;
}

/** The entries, counts and problems of all objects of a source. */
export interface CollectedObjects {
  /** The entries to write. */
  readonly entries: LabeledVersion[];
  readonly counts: Record<'entries' | 'skipped' | 'filtered' | 'warnings', number>;
  readonly skipped: SkippedVersion[];
  /** Names of the objects that exceed the claim set limit or the limits of an entry. */
  readonly beyondLimit: ReadonlySet<string>;
  /** Names of the stored entries that stay unchanged. */
  readonly retained: ReadonlySet<string>;
  /** Names of retained entries that an object of an earlier kind replaces. */
  readonly displaced: ReadonlySet<string>;
  /** Ignored or shortened annotations of the objects in `entries`. */
  readonly warnings: {
    readonly kind: string;
    readonly object: string;
    readonly warnings: readonly string[];
  }[];
}

/**
 * Decides which object provides the entry for each name, and which objects exceed the claim set limit.
 *
 * @param known the objects in the order of their kinds; if kinds share a name, the first kind wins.
 * @param mustWrite returns whether to write the entry with this name; counts and skipped objects always cover all
 * objects.
 * @param maxClaimSets the maximum number of claim sets (`claimSetsPerSource`, reference/configuration).
 */
export async function collectObjects(
  known: readonly KnownObjects[],
  mustWrite: (name: string) => boolean,
  maxClaimSets: number,
): Promise<CollectedObjects> {
  const winners = new Map<string, Resource>();
  const claimSets = new ClaimSets(maxClaimSets);
  const beyondLimit = new Set<string>();
  const retained = new Set<string>();
  const displaced = new Set<string>();
  const collected: CollectedObjects = {
    entries: [],
    counts: { entries: 0, skipped: 0, filtered: 0, warnings: 0 },
    skipped: [],
    beyondLimit,
    retained,
    displaced,
    warnings: [],
  };
  const { entries, counts, skipped, warnings } = collected;
  for (const { objects } of known)
    for (const object of objects.values())
      if (object.outcome === 'retained') claimSets.accepts(object.claims);
  for (const { resource, objects } of known)
    for (const [name, object] of [...objects]) {
      await pauseIfDue();
      const winner = winners.get(name);
      if (object.outcome === 'filtered') counts.filtered += 1;
      else if (object.outcome === 'skipped') skipped.push(skippedEntry(object, object.reasons));
      else if (object.outcome === 'retained') {
        if (winner) displaced.add(name);
        else {
          winners.set(name, resource);
          retained.add(name);
          counts.entries += 1;
        }
      } else if (winner) skipped.push(duplicate(resource, name, object, winner));
      else if (!claimSets.accepts(object.claims)) {
        winners.set(name, resource);
        beyondLimit.add(name);
        skipped.push(tooManyClaims(resource, name, object, maxClaimSets));
      } else {
        winners.set(name, resource);
        counts.entries += 1;
        counts.warnings += object.warnings.length;
        if (mustWrite(name)) {
          entries.push(object);
          if (object.warnings.length > 0)
            warnings.push({ kind: resource.kind, object: name, warnings: object.warnings });
        }
      }
    }
  counts.skipped = skipped.length;
  return collected;
}

/** Adds the versions that the writer refused. Each write tries their objects again, so they stay listed. */
export function withRefused(
  collected: CollectedObjects,
  refused: readonly RefusedVersion[],
): CollectedObjects {
  const { counts, skipped, beyondLimit } = collected;
  return {
    ...collected,
    counts: {
      ...counts,
      entries: counts.entries - refused.length,
      skipped: counts.skipped + refused.length,
    },
    skipped: [
      ...skipped,
      ...refused.map(({ name, version, reason }) => skippedEntry({ name, version }, [reason])),
    ],
    beyondLimit: new Set([...beyondLimit, ...refused.map(({ name }) => name.slice(ENTRY_PREFIX.length))]),
  };
}

class ClaimSets {
  private readonly texts = new Set<string>();

  constructor(private readonly limit: number) {}

  accepts(claims: Claims): boolean {
    const text = canonicalClaims(claims);
    if (this.texts.has(text)) return true;
    if (this.texts.size >= this.limit) return false;
    this.texts.add(text);
    return true;
  }
}

function skippedEntry(
  { name, version }: Pick<SkippedVersion, 'name' | 'version'>,
  reasons: readonly string[],
): SkippedVersion {
  return { type: 'server', name, version, reasons: [...reasons] };
}

// An entry has only one claim set, so its versions cannot come from two objects.
function duplicate(
  { kind }: Resource,
  name: string,
  { version }: ExportedServer,
  winner: Resource,
): SkippedVersion {
  return skippedEntry(version, [
    `${kind} ${name}: the ${winner.kind} with the same namespace and name takes precedence`,
  ]);
}

function tooManyClaims(
  { kind }: Resource,
  name: string,
  { version }: ExportedServer,
  maxClaimSets: number,
): SkippedVersion {
  return skippedEntry(version, [
    `${kind} ${name}: the source already has ${maxClaimSets} different claim sets, the maximum (claimSetsPerSource)`,
  ]);
}

/** Returns whether two results of reading an object are equal. */
export function isSameOutcome(one: ReadObject | undefined, other: ReadObject | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  if (one.outcome === 'entry' && other.outcome === 'entry')
    return (
      one.version.digest.equals(other.version.digest) &&
      canonicalClaims(one.claims) === canonicalClaims(other.claims)
    );
  return JSON.stringify(one) === JSON.stringify(other);
}
