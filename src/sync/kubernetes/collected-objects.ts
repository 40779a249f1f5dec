import { canonicalClaims, type Claims } from '../../claims/claims.js';
import type { SkippedEntry } from '../../documents/incoming-version.js';
import type { LabeledVersion } from '../../entries/writer/entry-writer.js';
import { TimeSlice } from '../../json/time-slice.js';
import { type EntryFilter, passesFilter } from '../../sources/entry-filter.js';
import type { Resource } from './custom-resources.js';
import { ENTRY_PREFIX, type ExportedServer, readStored, type SkippedObject } from './read-object.js';
import type { StoredEntries } from './stored-entries.queries.js';

/** One kind in one namespace, or in all of them (null). */
interface Watched {
  readonly resource: { readonly kind: string };
  readonly namespace: string | null;
}

/** An entry that stays as it is stored, because nobody knows what has become of its object. */
export interface RetainedEntry {
  readonly outcome: 'retained';
  readonly claims: Claims;
}

/**
 * What is stored of those kinds and namespaces that have not been listed since this replica took the source over. What is
 * excluded by the filter of the source is not among it: that may be newer than what is stored.
 */
export class RetainedEntries<W extends Watched> {
  private constructor(private readonly byWatch: ReadonlyMap<W, Map<string, RetainedEntry>>) {}

  static none<W extends Watched>(): RetainedEntries<W> {
    return new RetainedEntries(new Map());
  }

  static async load<W extends Watched>(
    stored: StoredEntries,
    { id, filter }: { readonly id: number; readonly filter: EntryFilter | null },
    watches: readonly W[],
  ): Promise<RetainedEntries<W>> {
    if (watches.length === 0) return RetainedEntries.none();
    const slice = new TimeSlice();
    const byWatch = new Map(watches.map((watch) => [watch, new Map<string, RetainedEntry>()]));
    const prefixes = new Set(
      watches.map(({ namespace }) => (namespace === null ? ENTRY_PREFIX : `${ENTRY_PREFIX}${namespace}/`)),
    );
    for await (const { name, document, claims } of stored.beginningWith(id, [...prefixes])) {
      await slice.pause();
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

  /** By `namespace/name`. */
  of(watch: W): ReadonlyMap<string, RetainedEntry> {
    return this.byWatch.get(watch) ?? new Map<string, RetainedEntry>();
  }

  /** Gives them up, once what they come from is listed: they are to be written anew, or removed. */
  release(watch: W): string[] {
    const released = [...this.of(watch).keys()];
    this.byWatch.get(watch)?.clear();
    return released;
  }

  /** Others have been written in place of these. */
  forget(names: Iterable<string>): void {
    for (const name of names) for (const entries of this.byWatch.values()) entries.delete(name);
  }
}

/** What became of an object that was read. */
export type Outcome = ExportedServer | SkippedObject | { readonly outcome: 'filtered' };

/** The objects of a kind, in one namespace or in all of them, by `namespace/name`. */
export interface KnownObjects {
  readonly resource: Resource;
  readonly objects: ReadonlyMap<string, Outcome | RetainedEntry>;
}

/** What all objects of a source come to. */
export interface CollectedObjects {
  /** To be written: those that were asked for. */
  readonly entries: LabeledVersion[];
  readonly counts: Record<'entries' | 'skipped' | 'filtered' | 'warnings', number>;
  readonly skipped: SkippedEntry[];
  /** The names of the objects whose claims are too many. */
  readonly beyondLimit: ReadonlySet<string>;
  /** The names of the entries that stay as they are stored. */
  readonly retained: ReadonlySet<string>;
  /** The names of those that would, if no object of a kind that comes first had their name. */
  readonly displaced: ReadonlySet<string>;
  /** What is not served of the objects in `entries`. */
  readonly warnings: {
    readonly kind: string;
    readonly object: string;
    readonly warnings: readonly string[];
  }[];
}

/**
 * Decides which object of a name is the entry, and which claims have their place.
 *
 * @param known in the order of the kinds: of one name, the first counts.
 * @param isAsked whether the entry of this name is to be written; counts and skipped objects are always those of all.
 * @param maxClaimSets contract §2, `claimSetsPerSource`: those that came first have their place.
 */
export async function collectObjects(
  known: readonly KnownObjects[],
  isAsked: (name: string) => boolean,
  maxClaimSets: number,
): Promise<CollectedObjects> {
  const slice = new TimeSlice();
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
      if (object.outcome === 'retained') claimSets.hasRoomFor(object.claims);
  for (const { resource, objects } of known)
    for (const [name, object] of [...objects]) {
      await slice.pause();
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
      else if (!claimSets.hasRoomFor(object.claims)) {
        winners.set(name, resource);
        beyondLimit.add(name);
        skipped.push(tooManyClaims(resource, name, object, maxClaimSets));
      } else {
        winners.set(name, resource);
        counts.entries += 1;
        counts.warnings += object.warnings.length;
        if (isAsked(name)) {
          entries.push(object);
          if (object.warnings.length > 0)
            warnings.push({ kind: resource.kind, object: name, warnings: object.warnings });
        }
      }
    }
  counts.skipped = skipped.length;
  return collected;
}

class ClaimSets {
  private readonly texts = new Set<string>();

  constructor(private readonly most: number) {}

  hasRoomFor(claims: Claims): boolean {
    const text = canonicalClaims(claims);
    if (this.texts.has(text)) return true;
    if (this.texts.size >= this.most) return false;
    this.texts.add(text);
    return true;
  }
}

function skippedEntry(
  { name, version }: Pick<SkippedEntry, 'name' | 'version'>,
  reasons: readonly string[],
): SkippedEntry {
  return { type: 'server', name, version, reasons: [...reasons] };
}

// An entry has one claim set: versions of two objects must not share it.
function duplicate(
  { kind }: Resource,
  name: string,
  { version }: ExportedServer,
  winner: Resource,
): SkippedEntry {
  return skippedEntry(version, [
    `${kind} ${name}: there is a ${winner.kind} of this namespace and name, which counts`,
  ]);
}

function tooManyClaims(
  { kind }: Resource,
  name: string,
  { version }: ExportedServer,
  maxClaimSets: number,
): SkippedEntry {
  return skippedEntry(version, [
    `${kind} ${name}: the entries of a source may carry ${maxClaimSets} different claims, and others do already`,
  ]);
}

/** Whether an object means the same as before. */
export function isSameOutcome(one: Outcome | undefined, other: Outcome | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  if (one.outcome === 'entry' && other.outcome === 'entry')
    return (
      one.version.digest.equals(other.version.digest) &&
      canonicalClaims(one.claims) === canonicalClaims(other.claims)
    );
  return JSON.stringify(one) === JSON.stringify(other);
}
