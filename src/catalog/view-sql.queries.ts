import type { StatementRunner } from '../database/search-pool.js';
import { bind, type NamedValues } from '../database/statements.js';
import { unionOf } from '../visibility/partitions.js';
import type { RememberedRegistry, View, VisibleSource } from '../visibility/view.js';

/** How often a page is read because something changed each time. */
export const MAX_READS = 5;
/** Said when that was not often enough. */
export const CHANGES_TOO_FAST = 'The catalogue changes faster than it can be read: try again shortly';

/** In every row of a statement about a view: whether its sources were still at the revisions of the view. */
export interface CurrencyRow {
  readonly isCurrent: boolean;
}

/**
 * Whether an answer, made by one statement or several, is of the state of the catalogue that its view was computed from. The view
 * is known before the rows are read, perhaps from an earlier request: each statement tests whether anything has changed in between,
 * in its own snapshot.
 */
export class SnapshotCheck {
  private isOutOfDate = false;
  private hasProof = false;

  /** @param remembered the registry of the view, where it was not looked up for this answer: it is tested too. */
  constructor(
    readonly view: View,
    readonly remembered?: RememberedRegistry,
  ) {}

  /** Whether everything observed so far is of the state of the view. Of one that is remembered, something has to be. */
  get isCurrent(): boolean {
    return !this.isOutOfDate && (this.hasProof || !this.remembered);
  }

  /** @param rows of a statement; without any there is no proof, and that counts as out of date. */
  observe<Row extends CurrencyRow>(rows: Row[]): Row[] {
    if (rows[0]?.isCurrent === true) this.hasProof = true;
    else this.isOutOfDate = true;
    return rows;
  }
}

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

  /** `SnapshotCheck.isCurrent` */
  get isCurrent(): boolean {
    return this.check.isCurrent;
  }

  /** Equal where statements have the same values for all that they may name of the view. */
  get state(): string {
    const { view, remembered } = this.check;
    return `${view.tag} ${remembered?.name} ${remembered?.version}`;
  }

  /** Takes rows of a statement that was run for another reader of the same state, and begun after this one asked. */
  observe<Row extends CurrencyRow>(rows: Row[]): Row[] {
    return this.check.observe(rows);
  }

  /** The rows of a statement, which must select `isCurrent` from `CURRENCY`. */
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

/** What statements may name of a view. Lists are texts, made once and not for each statement: they may be long. */
interface ViewValues {
  /** Parameters of `CURRENCY`. */
  readonly sourceIds: string;
  readonly revisions: string;
  /** The sources in which anything is visible, in the order of the registry: their ranks are their places, from 1 on. */
  readonly rankedSources: string;
  /** Whether every claim set is visible, also one that nobody knew when the view was made. */
  readonly seesAll: boolean;
  /** The visible claim sets; empty when all are. Which are visible does not depend on the source. */
  readonly claimSets: string;
}

/** The partitions of a view column by column, for statements that go through them one by one. */
interface PartitionValues {
  readonly partitionSources: string;
  readonly partitionClaimSets: string;
  readonly partitionRanks: string;
}

/** Partitions whose claim sets are compared, so that each is sent once. */
const MAX_COMPARED = 20_000;

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

/** Of a view that does not see all: its partitions are not known otherwise. */
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

// Each once, since PostgreSQL takes the list apart every time. Of very many that would hold up the others here for longer.
function claimSetsOf(visible: readonly VisibleSource[]): readonly (string | number)[] {
  const count = visible.reduce((sum, { claimSetIds }) => sum + claimSetIds.length, 0);
  if (count > MAX_COMPARED) return visible.map(({ text }) => text);
  return visible.map(({ claimSetIds }) => claimSetIds).reduce(unionOf, []);
}

// As PostgreSQL writes an array.
function listOf(texts: readonly (string | number)[]): string {
  return `{${texts.join()}}`;
}
