import { Injectable } from '@nestjs/common';
import { PreparedStatements } from '../database/statements.js';
import type { EntryType } from '../documents/entry-types.js';
import type { View } from '../visibility/view-cache.js';
import { CURRENCY } from '../visibility/views.queries.js';
import { hasShownStatus, isVisibleAmongMany, rankedBy } from './list-request.js';
import { type CurrencyRow, readCurrent } from './view-sql.queries.js';

export interface EntryName {
  readonly type: EntryType;
  readonly name: string;
}

/** A name that a view shows, and the source that provides its versions. */
export interface ShownName extends EntryName {
  readonly source: string;
}

type Row = CurrencyRow & (ShownName | { readonly [column in keyof ShownName]: null });

// The first visible entry of a name shadows the others, even if none of its versions is shown (contract §6).
const shownNames = (candidates: string) => `
with ${CURRENCY},
${rankedBy('(select $rankedSources::int[])')},
names as materialized (
  select distinct on (e.type, e.name) e.id, e.type, e.name, e.source_id
  from ranked r cross join ${candidates}
  where ${isVisibleAmongMany('e')}
  order by e.type, e.name, r.rank
)
select currency."isCurrent", n.type, n.name, n.source
from currency left join (
  select n.type, n.name, s.name as source
  from names n join entry_version v on v.entry_id = n.id and v.is_latest join source s on s.id = n.source_id
  where ${hasShownStatus()}
) n on true`;

const ALL = shownNames('lateral (select * from entry o where o.source_id = r.source_id) e');
const SOME = shownNames(`unnest((select $types::text[]), (select $names::text[])) as asked(type, name)
  cross join lateral (
    select * from entry o where o.source_id = r.source_id and o.type = asked.type and o.name = asked.name offset 0
  ) e`);

/** Reads the names that a view shows, by the conditions of the lists (contract §6). */
@Injectable()
export class ViewNames {
  constructor(private readonly prepared: PreparedStatements) {}

  /**
   * @param find returns the current view; null if there is none.
   * @param asked the names to look for; null for all.
   * @throws ApiError 503 `database_timeout` if the view changes during every read.
   */
  async shown(find: () => Promise<View | null>, asked: readonly EntryName[] | null): Promise<ShownName[]> {
    const rows = await (asked
      ? readCurrent<Row>(this.prepared, find, SOME, {
          types: asked.map(({ type }) => type),
          names: asked.map(({ name }) => name),
        })
      : readCurrent<Row>(this.prepared, find, ALL));
    return (rows ?? []).flatMap(({ type, name, source }) => (type === null ? [] : [{ type, name, source }]));
  }
}
