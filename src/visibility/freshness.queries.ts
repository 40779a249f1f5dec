import { ON_PRIMARY } from '../database/sql-expressions.js';
import type { StatementRunner } from '../database/search-pool.js';
import { bind, type NamedValues } from '../database/statements.js';
import { ApiError } from '../http/errors.js';
import { isEmptyView, type RememberedRegistry, valuesOf, type View } from './view.js';

// Decides whether a cached page, view or access is out of date. Pages are cached by the tag of their view, which contains
// the revisions of its sources. Statements that use a remembered access compare its registry and revisions
// with the database.

/**
 * SQL: identifies the PostgreSQL server start and the table files. After a restore, or a failover that lost
 * transactions, ids and revisions may be reused for different rows, so caches from an earlier epoch are invalid.
 * Recreated tables and copied databases have different file paths.
 */
export const DATABASE_EPOCH = `concat_ws(' ', extract(epoch from pg_postmaster_start_time()), pg_relation_filepath('claim_set'),
    pg_relation_filepath('source'), pg_relation_filepath('source_partition'))`;

/**
 * SQL: computes `RegistryState.revisions` from the ids of the sources in registry order and their revisions in order of id,
 * both arrays. Arrays cost PostgreSQL half as much as text from `string_agg`.
 */
export const revisions = (ids: string, ordered: string) =>
  `${DATABASE_EPOCH} || '|' || ${ids}::text || '|' || ${ordered}::text`;

/** SQL: the version of registry `r`. Every update changes the row's `xmin`, so every column is covered. */
export const REGISTRY_VERSION = `r.xmin::text`;

/**
 * SQL: whether the sources `$sourceIds`, in this order, are still at `$revisions`; false if one was deleted. For a
 * remembered registry, `$registry` is set: a registry with this name, `$registryVersion` and these sources must also
 * exist. Each statement selects this condition with its rows, in one snapshot; on a standby it fails.
 */
const IS_CURRENT = `${ON_PRIMARY} and ${revisions(
  '$sourceIds::int[]',
  'array(select s.revision from source s where s.id = any($sourceIds::int[]) order by s.id)',
)} = $revisions and ($registry::text is null or exists (
  select from registry r
  where r.name = $registry and ${REGISTRY_VERSION} = $registryVersion
    and array(select source_id from registry_source where registry_id = r.id order by position) = $sourceIds::int[]
))`;

/** SQL: the first common table expression of a statement; selects `isCurrent`. */
export const FRESHNESS = `freshness as materialized (
  select ${IS_CURRENT} as "isCurrent"
)`;

/**
 * SQL: like `FRESHNESS`, but as an item of FROM, for statements that use it only in a join. PostgreSQL then
 * needs no storage for it.
 */
export const FRESHNESS_ITEM = `(select ${IS_CURRENT} as "isCurrent" offset 0) freshness`;

/** SQL: false for a remembered view that is no longer current, because the rows read for it would be discarded. */
export const IS_WORTH_READING = `($registry::text is null or (select "isCurrent" from freshness))`;

/** SQL: like `IS_WORTH_READING`, for statements that join `FRESHNESS_ITEM`. */
export const IS_ITEM_WORTH_READING = `($registry::text is null or freshness."isCurrent")`;

/** Maximum number of attempts to read a page that keeps changing. */
export const MAX_READS = 5;
/** The error message after the last attempt. */
export const CHANGES_TOO_FAST = 'The catalog changes faster than it can be read: try again shortly';

/**
 * Runs a statement for a view. If the view changes in the meantime, runs it again for the new one.
 *
 * @param find returns the current view; null if there is none.
 * @returns null if nothing is visible.
 * @throws ApiError as `find`; 503 `database_timeout` if the view changes during every read.
 */
export async function readCurrent<Row extends CheckedRow>(
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
export interface CheckedRow {
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
  observe<Row extends CheckedRow>(rows: Row[]): Row[] {
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
    readonly check: SnapshotCheck,
  ) {}

  get view(): View {
    return this.check.view;
  }

  /** Identifies the view and, for a remembered access, the state of the registry. */
  get state(): string {
    const { view, remembered } = this.check;
    return `${view.tag} ${remembered?.name ?? ''} ${remembered?.version ?? ''}`;
  }

  /** Runs a statement, which must select `isCurrent` from `FRESHNESS`. */
  async query<Row extends CheckedRow>(text: string, values: NamedValues = {}): Promise<Row[]> {
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

/** Whether a registry is as remembered: equal versions mean equal claims, equal revisions an equal view. */
export function isUnchanged(
  { remembered, view }: { readonly remembered: RememberedRegistry; readonly view: View },
  now: { readonly version: string; readonly revisions: string },
): boolean {
  return remembered.version === now.version && view.revisions === now.revisions;
}
