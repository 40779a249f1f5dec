import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { ONLY_BLOCKED } from '../admission/held-items.queries.js';
import { AccessPolicy } from '../authz/access-policy.js';
import type { Claims } from '../claims/claims.js';
import { bind, type NamedValues, PreparedStatements } from '../database/statements.js';
import { pauseIfDue } from '../limits/time-slice.js';
import { FRESHNESS, type CheckedRow, type ViewSql } from '../visibility/freshness.queries.js';
import type { RegistryAccess } from '../visibility/registry-views.js';
import { isVisible } from '../visibility/visible-entries.queries.js';
import { nameFrom, type Position, versionAfter } from './list-request.js';
import {
  FOUND_COLUMNS,
  type FoundVersion,
  isVersion,
  type MaybeVersion,
  PAGE_WINDOW,
  VERSION_COLUMNS_WITHOUT_LONG,
} from './page-body.js';
import {
  type FoundPlugin,
  isPlugin,
  type MaybePlugin,
  PLUGIN_COLUMNS,
  STARTS_SERVERS,
} from './plugin-servers.queries.js';

/** SQL: the claims of a held item `i` of source `s`, whose claims are in `c`. */
const CLAIMS = `coalesce(i.claims, c.claims)`;

/**
 * SQL: whether source `s` has been read since its settings changed. Until then, items that inherit its claims are
 * hidden; see `inheritClaims`.
 */
export const IS_READ = `exists (select from source_sync y where y.source_id = s.id and y.fetch_state is not null)`;

/** SQL: items `i` that only blocks hold, with their sources `s`. */
export const BLOCKED_ITEMS = `(
  select i.id, i.source_id, i.type, i.name, ${CLAIMS} as claims
  from admission_item i join source s on s.id = i.source_id join claim_set c on c.id = s.claim_set_id
  where ${ONLY_BLOCKED}
    and (i.claims is not null or ${IS_READ})
)`;

interface BlockedClaims {
  readonly sourceId: number;
  /** JSON text. */
  readonly claims: string;
  /** Changes whenever the items with these claims change. */
  readonly items: string;
}

/**
 * Blocked versions that the caller would see if they were not blocked, by source and claims (reference/client-config).
 */
export class BlockedView {
  /** Equal for equal sets of versions. */
  readonly tag: string;

  constructor(readonly visible: readonly BlockedClaims[]) {
    this.tag = createHash('sha256').update(JSON.stringify(visible)).digest('base64url');
  }

  /** Cache keys contain the tag. */
  toJSON(): string {
    return this.tag;
  }
}

/** Reads the versions held by blocks: no other code shows held versions to consumers. */
@Injectable()
export class BlockedVersions {
  constructor(
    private readonly prepared: PreparedStatements,
    private readonly policy: AccessPolicy,
  ) {}

  async visibleTo({ caller, view }: RegistryAccess): Promise<BlockedView> {
    const { text, values } = bind(
      `select b.source_id as "sourceId", b.claims::text,
         concat(count(*), ' ', bit_xor(hashtextextended(b.id::text, 0))) as items
       from ${BLOCKED_ITEMS} b where b.source_id = any($sourceIds::int[]) and b.type in ('server', 'plugin')
       group by b.source_id, b.claims order by 1, 2`,
      { sourceIds: [...view.sourceIds] },
    );
    const found = await this.prepared.query<BlockedClaims[]>(text, values);
    const visible: BlockedClaims[] = [];
    for (const each of found) {
      await pauseIfDue();
      if (view.seesAll || this.policy.maySee(caller, JSON.parse(each.claims) as Claims)) visible.push(each);
    }
    return new BlockedView(visible);
  }
}

interface BlockedPage {
  readonly limit: number;
  readonly after: Position | null;
}

/** SQL: blocked items of a type, except those that another source's entry or item would shadow. */
const visibleBlocked = (type: 'server' | 'plugin') => `
ranked as materialized (
  select source_id, rank::int from unnest((select $sourceIds::int[])) with ordinality as r(source_id, rank)
),
candidates as materialized (
  select b.id, b.name, r.rank from ${BLOCKED_ITEMS} b join ranked r on r.source_id = b.source_id
  where b.type = '${type}' and (b.source_id, b.claims) in (
    select * from unnest((select $blockedSources::int[]), (select $blockedClaims::text[])::jsonb[]))
),
blocked as materialized (
  select b.id, b.name from candidates b
  where not exists (select from candidates o where o.name = b.name and o.rank < b.rank)
    and not exists (
      select from ranked r join entry e on e.source_id = r.source_id
      where r.rank < b.rank and e.type = '${type}' and e.name = b.name and ${isVisible('e')})
)`;

function valuesOf(visible: readonly BlockedClaims[], after: Position | null): NamedValues {
  return {
    blockedSources: visible.map(({ sourceId }) => sourceId),
    blockedClaims: visible.map(({ claims }) => claims),
    afterName: after?.name,
    afterKey: after?.key,
  };
}

/** SQL: the key by which versions of an item `i` are ordered. */
const ITEM_KEY = `concat(i.version_key, ' ', i.id)`;

/** Reads a page of blocked servers, in list order, without those that another source's entry would shadow. */
export async function blockedVersions(
  sql: ViewSql,
  visible: readonly BlockedClaims[],
  { limit, after, maxDocumentBytes }: BlockedPage & { readonly maxDocumentBytes: number },
): Promise<FoundVersion[]> {
  if (visible.length === 0) return [];
  const rows = await sql.query<MaybeVersion & CheckedRow>(
    `
with ${FRESHNESS},
${visibleBlocked('server')}
select freshness."isCurrent",
    ${FOUND_COLUMNS}
from freshness left join (
  select v.name, ${VERSION_COLUMNS_WITHOUT_LONG}
  from blocked b cross join lateral (
    select i.name, i.version, ${ITEM_KEY} as version_key, i.document, i.version_status as status,
      i.status_message, i.status_changed_at, i.published_at, i.created_at as updated_at, false as is_latest
    from admission_item i where i.id = b.id
  ) v
  where ${nameFrom(after, 'b.name')} and ${versionAfter(after, 'b.name', 'v.version_key')}
  order by v.name, v.version_key desc limit ${limit + 1}
) found on true
window page as ${PAGE_WINDOW}`,
    { ...valuesOf(visible, after), maxDocumentBytes },
  );
  return rows.filter(isVersion);
}

/** Works like `blockedVersions`, for plugins whose content starts servers. */
export async function blockedPlugins(
  sql: ViewSql,
  visible: readonly BlockedClaims[],
  { limit, after }: BlockedPage,
): Promise<FoundPlugin[]> {
  if (visible.length === 0) return [];
  const rows = await sql.query<MaybePlugin & CheckedRow>(
    `
with ${FRESHNESS},
${visibleBlocked('plugin')}
select freshness."isCurrent",
    ${PLUGIN_COLUMNS}
from freshness left join (
  select i.name, i.version, ${ITEM_KEY} as key, t.plugin_servers -> 'servers' as servers
  from blocked b join admission_item i on i.id = b.id join content_tree t on t.digest = i.content_tree
  where ${STARTS_SERVERS} and ${nameFrom(after, 'i.name')} and ${versionAfter(after, 'i.name', ITEM_KEY)}
  order by i.name, key desc limit ${limit + 1}
) found on true
window page as ${PAGE_WINDOW}`,
    valuesOf(visible, after),
  );
  return rows.filter(isPlugin);
}
