import { createHash } from 'node:crypto';

/** What is visible of one source: the entries that carry one of these claim sets. */
export interface VisibleSource {
  readonly sourceId: number;
  /** In ascending order. */
  readonly claimSetIds: readonly number[];
  /** The same as a text, separated by commas: to put it together for every statement would take longer than the statement. */
  readonly text: string;
  /** Equal for equal sources with equal claim sets, and for no others. */
  readonly digest: string;
}

/**
 * What one caller sees of one registry, in the order of the registry's sources, so that of two entries with one name the earlier
 * shadows the later. Two callers with equal views get equal bytes.
 */
export interface View {
  /** Whether every entry is visible, whatever its claims: then there is no need to know the partitions. */
  readonly seesAll: boolean;
  /** The sources of which anything is visible; empty when everything is. */
  readonly visible: readonly VisibleSource[];
  /** Equal for equal views of sources in which nothing has changed in between, and for no others. */
  readonly tag: string;
  /** All sources of the registry in its order, also those of which nothing is visible. */
  readonly sourceIds: readonly number[];
  /** The state of those sources that the partitions were read at: `RegistryState.revisions`. */
  readonly revisions: string;
}

/** A registry as an earlier request found it; statements compare it with the database before they show anything of it. */
export interface RememberedRegistry {
  readonly name: string;
  /** `RegistryState.version`. */
  readonly version: string;
}

/** @param claimSetIds in ascending order. */
export function visibleSource(sourceId: number, claimSetIds: readonly number[]): VisibleSource {
  const text = claimSetIds.join();
  const digest = createHash('sha256').update(`${sourceId}:${text}`).digest('base64url');
  return { sourceId, claimSetIds, text, digest };
}

/** Whether nothing at all is visible. */
export function showsNothing({ seesAll, visible }: View): boolean {
  return !seesAll && visible.length === 0;
}

/** How many partitions are visible, of a view that does not see all. */
export function countPartitions({ visible }: View): number {
  return visible.reduce((sum, { claimSetIds }) => sum + claimSetIds.length, 0);
}

/** Whether two views show the same partitions in the same order. */
export function showsTheSame(one: View, other: View): boolean {
  return one.seesAll === other.seesAll && contentOf(one) === contentOf(other);
}

function contentOf({ seesAll, visible, sourceIds }: View): string {
  return seesAll ? sourceIds.join() : visible.map(({ digest }) => digest).join();
}
