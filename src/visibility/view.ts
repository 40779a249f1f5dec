import { createHash } from 'node:crypto';
import type { NamedValues } from '../database/statements.js';

/** The visible claim sets of one source: the caller sees the entries that carry one of them. */
export interface VisibleSource {
  readonly sourceId: number;
  /** The IDs of the claim sets in ascending order. */
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

/**
 * Creates the view of a registry.
 *
 * @param visible null if everything is visible.
 */
export function viewOf(
  { sourceIds, revisions }: Pick<View, 'sourceIds' | 'revisions'>,
  visible: readonly VisibleSource[] | null,
): View {
  const tag = createHash('sha256').update(`${revisions}|${visible === null}`);
  for (const { digest } of visible ?? []) tag.update(digest);
  const view = { tag: tag.digest('base64url'), sourceIds, revisions };
  return visible ? { ...view, seesAll: false, visible } : { ...view, seesAll: true };
}

/** Parameters that describe a view. Lists are cached as text, since they can be long. */
interface ViewValues {
  /** Parameters of `FRESHNESS`. */
  readonly sourceIds: string;
  readonly revisions: string;
  /** Sources with visible partitions, in registry order; their ranks start at 1. */
  readonly rankedSources: string;
  /** Whether every claim set is visible, including claim sets created later. */
  readonly seesAll: boolean;
  /** Visible claim sets; empty if all are visible. Visibility does not depend on the source. */
  readonly claimSets: string;
}

/** The visible partitions as columns, for statements that read partition by partition. */
interface PartitionValues {
  readonly partitionSources: string;
  readonly partitionClaimSets: string;
  readonly partitionRanks: string;
}

/** Maximum number of partitions whose claim sets are deduplicated. */
const MAX_DEDUPLICATED = 20_000;

const cachedValues = new WeakMap<View, ViewValues>();
const cachedPartitions = new WeakMap<ViewOfPartitions, PartitionValues>();

export function valuesOf(view: View): ViewValues {
  const cached = cachedValues.get(view);
  if (cached) return cached;
  const { sourceIds, revisions, seesAll } = view;
  const values = {
    sourceIds: listOf(sourceIds),
    revisions,
    rankedSources: listOf(sourcesOf(view)),
    seesAll,
    claimSets: listOf(view.seesAll ? [] : claimSetsOf(view.visible)),
  };
  cachedValues.set(view, values);
  return values;
}

export function partitionValues(view: ViewOfPartitions): NamedValues {
  const cached = cachedPartitions.get(view);
  if (cached) return { ...cached };
  const repeated = (value: number, { claimSetIds }: VisibleSource) => claimSetIds.map(() => value).join();
  const values = {
    partitionSources: listOf(view.visible.map((source) => repeated(source.sourceId, source))),
    partitionClaimSets: listOf(view.visible.map(({ text }) => text)),
    partitionRanks: listOf(view.visible.map((source, index) => repeated(index + 1, source))),
  };
  cachedPartitions.set(view, values);
  return { ...values };
}

// Deduplicates the list, since PostgreSQL parses it for each statement. For very many ids, deduplicating would block
// the event loop for too long.
function claimSetsOf(visible: readonly VisibleSource[]): readonly (string | number)[] {
  const count = visible.reduce((sum, { claimSetIds }) => sum + claimSetIds.length, 0);
  if (count > MAX_DEDUPLICATED) return visible.map(({ text }) => text);
  return [...new Set(visible.flatMap(({ claimSetIds }) => claimSetIds))];
}

// Formats a PostgreSQL array literal.
function listOf(texts: readonly (string | number)[]): string {
  return `{${texts.join()}}`;
}
