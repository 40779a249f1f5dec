import type { View } from '../../views/view.js';
import type { EntryType } from '../../documents/entry-types.js';
import { REVISIONS } from '../../views/revisions.js';
import type { ListFilter, Position } from './list-request.js';

/** What statements are told of a view. */
interface ViewColumns {
  /** In the order of the registry, so that the place is the rank. */
  readonly sources: readonly number[];
  /** Which claim sets are visible does not depend on the source. */
  readonly claimSets: readonly number[];
  /** The partitions, column by column. */
  readonly partSources: readonly number[];
  readonly partClaimSets: readonly number[];
  readonly partRanks: readonly number[];
}

// A view outlives many requests, and may have thousands of partitions.
const known = new WeakMap<View, ViewColumns>();

function columnsOf(view: View): ViewColumns {
  const found = known.get(view);
  if (found) return found;
  const ranks = new Map<number, number>();
  for (const { sourceId } of view.partitions) if (!ranks.has(sourceId)) ranks.set(sourceId, ranks.size + 1);
  const columns = {
    sources: [...ranks.keys()],
    claimSets: [...new Set(view.partitions.map(({ claimSetId }) => claimSetId))],
    partSources: view.partitions.map(({ sourceId }) => sourceId),
    partClaimSets: view.partitions.map(({ claimSetId }) => claimSetId),
    partRanks: view.partitions.map(({ sourceId }) => ranks.get(sourceId) ?? 0),
  };
  known.set(view, columns);
  return columns;
}

/** One statement about a view in the making: its values, and the pieces of SQL that refer to them. */
export class Statement {
  readonly values: unknown[] = [];
  private readonly columns: ViewColumns;
  private claimSets: string | undefined;

  constructor(private readonly view: View) {
    this.columns = columnsOf(view);
  }

  /** Adds a value; returns its placeholder. */
  add(value: unknown): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }

  /** Whether the sources of the registry are still what they were when the view was computed. */
  stands(): string {
    return `(
      select ${REVISIONS} = ${this.add(this.view.revisions)}
      from unnest(${this.add(this.view.sourceIds)}::int[]) with ordinality p(id, place) join source s on s.id = p.id
    )`;
  }

  /** The common table `ranked`: the sources of the view with their rank in the registry. */
  ranked(): string {
    return `ranked as materialized (
      select source_id, rank::int from unnest(${this.add(this.columns.sources)}::int[]) with ordinality as r(source_id, rank)
    )`;
  }

  /** The common table `part`: the partitions of the view with the rank of their source. */
  partitions(): string {
    const { partSources, partClaimSets, partRanks } = this.columns;
    return `part as materialized (
      select * from unnest(${[partSources, partClaimSets, partRanks].map((column) => `${this.add(column)}::int[]`).join(', ')})
        as p(source_id, claim_set_id, rank)
    )`;
  }

  /** Whether the claims of an entry are in the view. */
  visible(entry: string): string {
    this.claimSets ??= this.add(this.columns.claimSets);
    return `${entry}.claim_set_id = any(${this.claimSets}::int[])`;
  }

  type(entry: string, type: EntryType): string {
    return `${entry}.type = ${this.add(type)}`;
  }

  /**
   * A value the planner can't look into: the plan is the same whatever the value is, and whatever the statistics say of
   * it, or do not say yet.
   */
  hidden(value: unknown, type: string): string {
    return `(select ${this.add(value)}::${type})`;
  }

  /**
   * The versions of the entry `id` that pass the filter, as `v`, newest first. OFFSET 0 lets nothing but the indexes of
   * the entry's versions be used for it: others would be read anew for each entry.
   */
  versionsOf(id: string, filter: ListFilter): string {
    const { version } = filter;
    let own = 'true';
    if (version === 'latest') own = 'o.is_latest';
    else if (version !== undefined) own = `o.version = ${this.hidden(version, 'text')}`;
    return `(select * from entry_version o where o.entry_id = ${id} and ${own} order by o.version_key desc offset 0) v
      where ${this.shown(filter)}`;
  }

  /** Whether a version of the list passes the filter. `v` is the version. */
  shown(filter: ListFilter): string {
    const conditions: string[] = [];
    if (!filter.includeDeleted) conditions.push(`v.status <> 'deleted'`);
    if (filter.version === 'latest') conditions.push('v.is_latest');
    else if (filter.version !== undefined) conditions.push(`v.version = ${this.add(filter.version)}`);
    if (filter.status !== undefined) conditions.push(`v.status = ${this.add(filter.status)}`);
    if (filter.updatedSince !== undefined)
      conditions.push(`v.updated_at >= ${this.add(filter.updatedSince)}::timestamptz`);
    if (filter.search !== undefined) conditions.push(`v.search like ${this.add(patternOf(filter.search))}`);
    return conditions.length > 0 ? conditions.join(' and ') : 'true';
  }

  /** Keeps the names that a position has not passed yet, its own among them. */
  from(position: Position | null, name: string): string {
    return position ? `${name} >= ${this.add(position.name)}` : 'true';
  }

  /** Keeps the versions that come after a position, of names that `from` has kept. */
  after(position: Position | null, name: string, key: string): string {
    return position ? `(${name} > ${this.add(position.name)} or ${key} < ${this.add(position.key)})` : 'true';
  }
}

/** The LIKE pattern of a text that may stand anywhere. */
export function patternOf(search: string): string {
  return `%${search.replaceAll(/[\\%_]/g, '\\$&')}%`;
}
