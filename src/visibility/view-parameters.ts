import type { NamedValues } from '../database/statements.js';
import { unionOf } from './ascending-ids.js';
import { sourcesOf, type View, type ViewOfPartitions, type VisibleSource } from './view.js';

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
  return visible.map(({ claimSetIds }) => claimSetIds).reduce(unionOf, []);
}

// Formats a PostgreSQL array literal.
function listOf(texts: readonly (string | number)[]): string {
  return `{${texts.join()}}`;
}
