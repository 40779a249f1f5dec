import { canonicalClaims, type Claims } from '../claims/claims.js';
import type { SkippedEntry } from '../documents/incoming-version.js';
import type { LabeledVersion } from '../entries/writer/entry-writer.js';
import { TimeSlice } from '../json/time-slice.js';
import type { Resource } from './custom-resources.js';
import type { ExportedServer, SkippedObject } from './read-object.js';
import type { RetainedEntry } from './retained-entries.js';

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
