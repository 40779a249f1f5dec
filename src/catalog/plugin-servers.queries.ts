import type { PluginServer, PluginVersion } from '../client-config/plugin-server.js';
import { MAX_PAGE_BYTES } from '../http/lists.js';
import { type CheckedRow, FRESHNESS, type ViewSql } from '../visibility/freshness.queries.js';
import { isEmptyView } from '../visibility/view.js';
import { isVisibleAmongMany, rankedBy } from '../visibility/visible-entries.queries.js';
import { hasShownStatus, type Position } from './list-request.js';
import { PAGE_WINDOW } from './page-body.js';

/** A plugin; `servers` is null if they do not fit on the page. */
export interface FoundPlugin extends Omit<PluginVersion, 'servers'>, Position {
  readonly servers: readonly PluginServer[] | null;
}

export type MaybePlugin = FoundPlugin | { readonly [column in keyof FoundPlugin]: null };

export function isPlugin<Row extends MaybePlugin>(row: Row): row is Row & FoundPlugin {
  return row.name !== null;
}

/** SQL: whether a tree `t` starts servers. */
export const STARTS_SERVERS = `t.plugin_servers -> 'servers' <> '[]'`;

/** SQL: the columns of a `FoundPlugin`, of `found` in the window `page` (PAGE_WINDOW). */
export const PLUGIN_COLUMNS = `found.name, found.version, found.key,
    case when sum(octet_length(found.servers::text)) over page <= ${MAX_PAGE_BYTES} or row_number() over page = 1
      then found.servers end as servers`;

/** Reads a page of the plugins in the view whose latest version has content that starts servers, in the order of names. */
export async function visiblePlugins(
  sql: ViewSql,
  { limit, after }: { readonly limit: number; readonly after: Position | null },
): Promise<FoundPlugin[]> {
  if (isEmptyView(sql.view)) return [];
  // The first visible entry of a name shadows the others, even if it starts no servers (reference/catalog).
  const rows = await sql.query<MaybePlugin & CheckedRow>(
    `
with ${FRESHNESS},
${rankedBy('(select $rankedSources::int[])')},
starting as materialized (
  select distinct o.name
  from content_tree t join version_content c on c.tree = t.digest
    join entry_version v on v.id = c.version_id and v.is_latest join entry o on o.id = v.entry_id
  where ${STARTS_SERVERS} and o.type = 'plugin' and o.source_id in (select source_id from ranked)
    and ($afterName::text is null or o.name > $afterName)
),
names as materialized (
  select distinct on (e.name) e.id, e.name
  from starting s cross join ranked r cross join lateral (
    select * from entry o where o.source_id = r.source_id and o.type = 'plugin' and o.name = s.name offset 0
  ) e
  where ${isVisibleAmongMany('e')}
  order by e.name, r.rank
)
select freshness."isCurrent",
    ${PLUGIN_COLUMNS}
from freshness left join (
  select n.name, v.version, '' as key, t.plugin_servers -> 'servers' as servers
  from names n join entry_version v on v.entry_id = n.id and v.is_latest
    join version_content c on c.version_id = v.id join content_tree t on t.digest = c.tree
  where ${STARTS_SERVERS} and ${hasShownStatus()}
  order by n.name limit ${limit + 1}
) found on true
window page as ${PAGE_WINDOW}`,
    { afterName: after?.name ?? null },
  );
  return rows.filter(isPlugin);
}
