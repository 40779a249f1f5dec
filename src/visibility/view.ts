import { createHash } from 'node:crypto';

/** The visible claim sets of one source: the caller sees the entries that carry one of them. */
export interface VisibleSource {
  readonly sourceId: number;
  /** In ascending order. */
  readonly claimSetIds: readonly number[];
  /** `claimSetIds` joined by commas, cached: joining thousands takes longer than the statement they are sent with. */
  readonly text: string;
  /** Digest of source and claim sets. */
  readonly digest: string;
}

/** The partitions that a caller sees in a registry, in source order: earlier sources shadow later ones. Equal views get equal bytes. */
export interface View {
  /** Whether every entry is visible regardless of its claims; `visible` is empty then. */
  readonly seesAll: boolean;
  /** The sources with visible partitions. */
  readonly visible: readonly VisibleSource[];
  /** Digest of the view and of its sources' revisions. */
  readonly tag: string;
  /** All sources of the registry, in its order. */
  readonly sourceIds: readonly number[];
  /** The `RegistryState.revisions` that the view was computed for. */
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

/** A view of exactly these sources, to explain a read. Without revisions, no statement takes it for a current view. */
export function viewOfSources(visible: readonly VisibleSource[]): View {
  const tag = `explained ${visible.map(({ digest }) => digest).join()}`;
  return { seesAll: false, visible, tag, sourceIds: visible.map(({ sourceId }) => sourceId), revisions: '' };
}

export function isEmptyView({ seesAll, visible }: View): boolean {
  return !seesAll && visible.length === 0;
}

/** Counts the visible partitions; not for a view that sees all. */
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
