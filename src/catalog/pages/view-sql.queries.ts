import type { StatementRunner } from '../../database/pools/search-pool.js';
import type { View } from '../../views/view.js';
import { bind, type NamedValues } from './bind.js';
import type { CurrencyRow, SnapshotCheck } from './snapshot-check.js';

/**
 * Runs statements about one view. It has values for their parameters about the view, and observes in the rows of each
 * whether the view is still current.
 */
export class ViewSql {
  constructor(
    private readonly statements: StatementRunner,
    private readonly check: SnapshotCheck,
  ) {}

  get view(): View {
    return this.check.view;
  }

  /** The rows of a statement, which must select `IS_CURRENT`. */
  async query<Row extends CurrencyRow>(text: string, values: NamedValues = {}): Promise<Row[]> {
    const statement = bind(text, { ...valuesOf(this.view), ...values });
    return this.check.observe(await this.statements.query<Row[]>(statement.text, statement.values));
  }
}

/** What statements may name of a view. Ranks are the places of sources in the registry, from 1 on. */
interface ViewValues {
  /** The parameters of `IS_CURRENT`. */
  readonly sourceIds: readonly number[];
  readonly revisions: string;
  /** The sources in which anything is visible, in the order of their ranks. */
  readonly rankedSources: readonly number[];
  /** The visible claim sets. Which of them are visible does not depend on the source. */
  readonly claimSets: readonly number[];
  /** The partitions, column by column. */
  readonly partitionSources: readonly number[];
  readonly partitionClaimSets: readonly number[];
  readonly partitionRanks: readonly number[];
}

// A view outlives many requests, and may have thousands of partitions.
const cachedValues = new WeakMap<View, ViewValues>();

function valuesOf(view: View): ViewValues {
  const cached = cachedValues.get(view);
  if (cached) return cached;
  const ranks = new Map<number, number>();
  for (const { sourceId } of view.partitions) if (!ranks.has(sourceId)) ranks.set(sourceId, ranks.size + 1);
  const values = {
    sourceIds: view.sourceIds,
    revisions: view.revisions,
    rankedSources: [...ranks.keys()],
    claimSets: [...new Set(view.partitions.map(({ claimSetId }) => claimSetId))],
    partitionSources: view.partitions.map(({ sourceId }) => sourceId),
    partitionClaimSets: view.partitions.map(({ claimSetId }) => claimSetId),
    partitionRanks: view.partitions.map(({ sourceId }) => ranks.get(sourceId) ?? 0),
  };
  cachedValues.set(view, values);
  return values;
}
