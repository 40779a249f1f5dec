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

interface AnyView {
  /** Digest of the view and its sources' revisions. */
  readonly tag: string;
  /** All sources of the registry, in registry order. */
  readonly sourceIds: readonly number[];
  /** The `RegistryState.revisions` that the view was computed for. */
  readonly revisions: string;
}

/** Every entry is visible regardless of its claims. */
interface ViewOfAll extends AnyView {
  readonly seesAll: true;
}

export interface ViewOfPartitions extends AnyView {
  readonly seesAll: false;
  /** The sources with visible partitions. */
  readonly visible: readonly VisibleSource[];
}

/** What a caller sees in a registry: earlier sources shadow later ones. Callers with equal views get identical responses. */
export type View = ViewOfAll | ViewOfPartitions;

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
export function viewOfSources(visible: readonly VisibleSource[]): ViewOfPartitions {
  const tag = `explained ${visible.map(({ digest }) => digest).join()}`;
  return { seesAll: false, visible, tag, sourceIds: visible.map(({ sourceId }) => sourceId), revisions: '' };
}

export function isEmptyView(view: View): boolean {
  return !view.seesAll && view.visible.length === 0;
}

/** The sources whose entries a view may show, in registry order. */
export function sourcesOf(view: View): readonly number[] {
  return view.seesAll ? view.sourceIds : view.visible.map(({ sourceId }) => sourceId);
}

/** Counts the visible partitions. */
export function countPartitions({ visible }: ViewOfPartitions): number {
  return visible.reduce((sum, { claimSetIds }) => sum + claimSetIds.length, 0);
}

/** Whether two views have the same partitions in the same order. */
export function haveSamePartitions(one: View, other: View): boolean {
  return one.seesAll === other.seesAll && contentOf(one) === contentOf(other);
}

function contentOf(view: View): string {
  return view.seesAll ? view.sourceIds.join() : view.visible.map(({ digest }) => digest).join();
}

/** Creates the view of a registry. @param visible null: everything. */
export function viewOf(
  { sourceIds, revisions }: Pick<View, 'sourceIds' | 'revisions'>,
  visible: readonly VisibleSource[] | null,
): View {
  const tag = createHash('sha256').update(`${revisions}|${visible === null}`);
  for (const { digest } of visible ?? []) tag.update(digest);
  const view = { tag: tag.digest('base64url'), sourceIds, revisions };
  return visible ? { ...view, seesAll: false, visible } : { ...view, seesAll: true };
}
