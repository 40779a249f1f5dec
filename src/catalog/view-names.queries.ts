import { Injectable } from '@nestjs/common';
import { PreparedStatements } from '../database/statements.js';
import type { EntryName, EntryType } from '../documents/entry-types.js';
import { FRESHNESS, type CheckedRow, readCurrent } from '../visibility/freshness.queries.js';
import type { View } from '../visibility/view.js';
import { isVisibleAmongMany, rankedBy } from '../visibility/visible-entries.queries.js';
import { hasShownStatus } from './list-request.js';

/** A name in a view, and the source that provides its versions. */
export interface ShownName extends EntryName {
  readonly source: string;
}

/** Consecutive names of a view, ordered by type and name. */
export interface NamesPage<Name extends EntryName = ShownName> {
  readonly names: readonly Name[];
  /** The last name that was read; null if all were. */
  readonly last: EntryName | null;
}

type Nullable<Columns> = Columns | { readonly [column in keyof Columns]: null };
type Row = CheckedRow & Nullable<ShownName>;
type PageRow = Row & Nullable<{ readonly lastType: EntryType; readonly lastName: string }>;

// The first visible entry of a name shadows the others, even if none of its versions is shown (reference/catalog).
const NAMED = `
named as (
  select n.type, n.name, s.name as source
  from names n join entry_version v on v.entry_id = n.id and v.is_latest join source s on s.id = n.source_id
  where ${hasShownStatus()}
)`;

const SOME = `
with ${FRESHNESS},
${rankedBy('(select $rankedSources::int[])')},
names as materialized (
  select distinct on (e.type, e.name) e.id, e.type, e.name, e.source_id
  from ranked r cross join unnest((select $types::text[]), (select $names::text[])) as asked(type, name)
  cross join lateral (
    select * from entry o where o.source_id = r.source_id and o.type = asked.type and o.name = asked.name offset 0
  ) e
  where ${isVisibleAmongMany('e')}
  order by e.type, e.name, r.rank
),
${NAMED}
select freshness."isCurrent", n.type, n.name, n.source from freshness left join named n on true`;

// Reads the same number of entries from each source. The result is complete only up to the smallest of the last names
// read.
const PAGE = `
with ${FRESHNESS},
${rankedBy('(select $rankedSources::int[])')},
candidates as materialized (
  select r.rank, e.*
  from ranked r cross join lateral (
    select o.id, o.type, o.name, o.source_id, o.claim_set_id, row_number() over (order by o.type, o.name) as place
    from entry o
    where o.source_id = r.source_id and (o.type, o.name) > ((select $afterType::text), (select $afterName::text))
    order by o.type, o.name limit (select $limit::int)
  ) e
),
last as materialized (
  select type, name from candidates where place = (select $limit::int) order by type, name limit 1
),
names as materialized (
  select distinct on (c.type, c.name) c.id, c.type, c.name, c.source_id
  from candidates c
  where ${isVisibleAmongMany('c')} and not exists (select from last l where (c.type, c.name) > (l.type, l.name))
  order by c.type, c.name, c.rank
),
${NAMED}
select freshness."isCurrent", l.type as "lastType", l.name as "lastName", n.type, n.name, n.source
from freshness left join last l on true left join named n on true
order by n.type, n.name`;

/** Reads the names of a view under the same conditions as the lists (reference/catalog). */
@Injectable()
export class ViewNames {
  constructor(private readonly prepared: PreparedStatements) {}

  /**
   * Returns which of these names are in the view.
   *
   * @param find returns the current view; null if there is none.
   * @throws ApiError 503 `database_timeout` if the view changes during every read.
   */
  async among(find: () => Promise<View | null>, asked: readonly EntryName[]): Promise<ShownName[]> {
    const rows = await readCurrent<Row>(this.prepared, find, SOME, {
      types: asked.map(({ type }) => type),
      names: asked.map(({ name }) => name),
    });
    return shownNames(rows);
  }

  /**
   * Returns the names after this one, or the first ones.
   *
   * @param limit number of entries to read from each source.
   */
  async after(find: () => Promise<View | null>, after: EntryName | null, limit: number): Promise<NamesPage> {
    const rows = await readCurrent<PageRow>(this.prepared, find, PAGE, {
      afterType: after?.type ?? '',
      afterName: after?.name ?? '',
      limit,
    });
    const [first] = rows ?? [];
    return {
      names: shownNames(rows),
      last: first && first.lastType !== null ? { type: first.lastType, name: first.lastName } : null,
    };
  }
}

function shownNames(rows: readonly Row[] | null): ShownName[] {
  return (rows ?? []).flatMap(({ type, name, source }) => (type === null ? [] : [{ type, name, source }]));
}
