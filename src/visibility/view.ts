import { createHash } from 'node:crypto';

/** The visible claim sets of one source: the caller sees the entries that carry one of them. */
export interface VisibleSource {
  readonly sourceId: number;
  /** In ascending order. */
  readonly claimSetIds: readonly number[];
  /** `claimSetIds` joined by commas; cached because joining thousands takes longer than running the statement. */
  readonly text: string;
  /** Digest of the source id and its visible claim sets. */
  readonly digest: string;
}

/**
 * The partitions that a caller sees in a registry, in source order: earlier sources shadow later ones. Callers with
 * equal views get identical responses.
 */
export interface View {
  /** Whether every entry is visible regardless of its claims; if so, `visible` is empty. */
  readonly seesAll: boolean;
  /** The sources with visible partitions. */
  readonly visible: readonly VisibleSource[];
  /** Digest of the view and its sources' revisions. */
  readonly tag: string;
  /** All sources of the registry, in registry order. */
  readonly sourceIds: readonly number[];
  /** The `RegistryState.revisions` that the view was computed for. */
  readonly revisions: string;
}

/** A registry as read by an earlier request; statements compare it with the database before they return its entries. */
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

/**
 * Creates a view of only these sources, for an explanation. It has no revisions, so no statement accepts it as current.
 */
/** Creates the view of a registry. */
export function viewOfSources(visible: readonly VisibleSource[]): View {
  const tag = `explained ${visible.map(({ digest }) => digest).join()}`;
  return { seesAll: false, visible, tag, sourceIds: visible.map(({ sourceId }) => sourceId), revisions: '' };
}

export function isEmptyView({ seesAll, visible }: View): boolean {
  return !seesAll && visible.length === 0;
}

/** Counts the visible partitions. Must not be called for a view that sees all entries. */
export function countPartitions({ visible }: View): number {
  return visible.reduce((sum, { claimSetIds }) => sum + claimSetIds.length, 0);
}

/** Whether two views have the same partitions in the same order. */
export function haveSamePartitions(one: View, other: View): boolean {
  return one.seesAll === other.seesAll && contentOf(one) === contentOf(other);
}

function contentOf({ seesAll, visible, sourceIds }: View): string {
  return seesAll ? sourceIds.join() : visible.map(({ digest }) => digest).join();
}

/** Creates the view of a registry. */
export function viewOf(
  { sourceIds, revisions }: Pick<View, 'sourceIds' | 'revisions'>,
  seesAll: boolean,
  visible: readonly VisibleSource[],
): View {
  const tag = createHash('sha256').update(`${revisions}|${seesAll}`);
  for (const { digest } of visible) tag.update(digest);
  return { seesAll, visible, tag: tag.digest('base64url'), sourceIds, revisions };
}
