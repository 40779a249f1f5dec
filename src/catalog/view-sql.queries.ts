import type { StatementRunner } from '../database/search-pool.js';
import { bind, type NamedValues } from '../database/statements.js';
import { ApiError } from '../http/errors.js';
import { unionOf } from '../visibility/partitions.js';
import {
  isEmptyView,
  type RememberedRegistry,
  type View,
  type VisibleSource,
} from '../visibility/view-cache.js';

/** Maximum number of attempts to read a page that keeps changing. */
export const MAX_READS = 5;
/** The error message after the last attempt. */
export const CHANGES_TOO_FAST = 'The catalog changes faster than it can be read: try again shortly';

/**
 * Runs a statement for a view. If the view changes meanwhile, runs it again for the new one.
 *
 * @param find returns the current view; null if there is none.
 * @returns null if nothing is visible.
 * @throws ApiError of `find`; 503 `database_timeout` if the view changes during every read.
 */
export async function readCurrent<Row extends CurrencyRow>(
  statements: StatementRunner,
  find: () => Promise<View | null>,
  text: string,
  values: NamedValues = {},
): Promise<Row[] | null> {
  for (let reads = 1; reads <= MAX_READS; reads += 1) {
    const view = await find();
    if (!view || isEmptyView(view)) return null;
    const check = new SnapshotCheck(view);
    const rows = await new ViewSql(statements, check).query<Row>(text, values);
    if (check.isCurrent) return rows;
  }
  throw new ApiError('database_timeout', CHANGES_TOO_FAST);
}

/** A column in every row: whether the view was still current in the statement's snapshot. */
export interface CurrencyRow {
  readonly isCurrent: boolean;
}

/**
 * Checks that every statement behind a response saw the state that the view was computed for. Each statement makes this
 * check in its own snapshot.
 */
export class SnapshotCheck {
  private isOutOfDate = false;
  private hasProof = false;

  /** @param remembered set for a remembered access: statements then also check the registry. */
  constructor(
    readonly view: View,
    readonly remembered?: RememberedRegistry,
  ) {}

  /**
   * Whether all statements so far saw the state that the view was computed for; a remembered access needs at least one
   * statement.
   */
  get isCurrent(): boolean {
    return !this.isOutOfDate && (this.hasProof || !this.remembered);
  }

  /** @param rows the rows of a statement; an empty result counts as out of date. */
  observe<Row extends CurrencyRow>(rows: Row[]): Row[] {
    if (rows[0]?.isCurrent === true) this.hasProof = true;
    else this.isOutOfDate = true;
    return rows;
  }
}

/**
 * Runs statements for one view: binds the parameters that describe the view, and passes the rows to the SnapshotCheck.
 */
export class ViewSql {
  constructor(
    private readonly statements: StatementRunner,
    private readonly check: SnapshotCheck,
  ) {}

  get view(): View {
    return this.check.view;
  }

  /** See `SnapshotCheck.isCurrent`. */
  get isCurrent(): boolean {
    return this.check.isCurrent;
  }

  /** Runs a statement, which must select `isCurrent` from `CURRENCY`. */
  async query<Row extends CurrencyRow>(text: string, values: NamedValues = {}): Promise<Row[]> {
    const { view, remembered } = this.check;
    const statement = bind(text, {
      registry: remembered?.name ?? null,
      registryVersion: remembered?.version ?? null,
      ...valuesOf(view),
      ...values,
    });
    return this.check.observe(await this.statements.query<Row[]>(statement.text, statement.values));
  }
}

/** Parameters that describe a view. Lists are cached as text, since they can be long. */
interface ViewValues {
  /** Parameters of `CURRENCY`. */
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
const cachedPartitions = new WeakMap<View, PartitionValues>();

function valuesOf(view: View): ViewValues {
  const cached = cachedValues.get(view);
  if (cached) return cached;
  const { sourceIds, revisions, seesAll, visible } = view;
  const values = {
    sourceIds: listOf(sourceIds),
    revisions,
    rankedSources: listOf(seesAll ? sourceIds : visible.map(({ sourceId }) => sourceId)),
    seesAll,
    claimSets: listOf(claimSetsOf(visible)),
  };
  cachedValues.set(view, values);
  return values;
}

/** Must not be called for a view that sees all entries, because its partitions are unknown. */
export function partitionValues(view: View): NamedValues {
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
