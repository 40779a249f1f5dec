import { Injectable } from '@nestjs/common';
import { AccessPolicy } from '../authz/access-policy.js';
import type { Claims } from '../claims/claims.js';
import { PreparedStatements } from '../database/statements.js';
import { ApiError } from '../http/errors.js';
import { pauseIfDue } from '../limits/time-slice.js';
import {
  CHANGES_TOO_FAST,
  type CheckedRow,
  FRESHNESS,
  MAX_READS,
  SnapshotCheck,
  ViewSql,
} from '../visibility/freshness.queries.js';
import { RegistryViews, type VerifiedAccess } from '../visibility/registry-views.js';
import { isVisible } from '../visibility/visible-entries.queries.js';
import { BLOCKED_ITEMS, IS_READ } from './blocked-versions.queries.js';

/** Maximum number of names in a response; the newest removals are kept. */
const MAX_NAMES = 10_000;

interface NamesOfClaims {
  /** JSON text. */
  readonly claims: string;
  readonly names: readonly string[];
}

// The rows are grouped by claims, because a caller may see thousands of names through few claim sets. A blocked item
// counts even if other versions of its name are visible; a removal counts only if the caller no longer sees anything of
// that name, even if others see a replacement.
const WITHDRAWN = `
with ${FRESHNESS},
blocked as (
  select b.name, b.claims, null::timestamptz as at from ${BLOCKED_ITEMS} b
  where b.type <> 'server' and b.source_id = any($sourceIds::int[])
),
removed as (
  select r.name, coalesce(r.claims, c.claims) as claims, r.removed_at as at
  from removed_entry r join source s on s.id = r.source_id join claim_set c on c.id = s.claim_set_id
  where r.type <> 'server' and r.source_id = any($sourceIds::int[]) and (r.claims is not null or ${IS_READ})
    and not exists (
      select from entry e
      where e.source_id = any($sourceIds::int[]) and e.type = r.type and e.name = r.name and ${isVisible('e')})
),
newest as (
  select * from (select * from blocked union all select * from removed) w
  order by at desc, name limit ${MAX_NAMES}
)
select freshness."isCurrent", w.claims, w.names
from freshness left join (
  select n.claims::text, array_agg(distinct n.name) as names from newest n group by n.claims
) w on true`;

/** Finds plugins and skills that clients must no longer run (reference/client-config). */
@Injectable()
export class WithdrawnPlugins {
  constructor(
    private readonly prepared: PreparedStatements,
    private readonly views: RegistryViews,
    private readonly policy: AccessPolicy,
  ) {}

  /**
   * Returns distinct names, in order, of plugins and skills that were removed or are held by blocks and would otherwise
   * be visible to the caller.
   *
   * @throws ApiError as `RegistryViews.verify`; 503 `database_timeout`.
   */
  async namesFor(access: VerifiedAccess): Promise<string[]> {
    let current: VerifiedAccess = access;
    for (let reads = 1; reads <= MAX_READS; reads += 1) {
      if (reads > 1) current = await this.views.verify(current);
      const check = new SnapshotCheck(current.view);
      const rows = await new ViewSql(this.prepared, check).query<MaybeNames & CheckedRow>(WITHDRAWN);
      if (!check.isCurrent) continue;
      const names = new Set<string>();
      for (const row of rows) {
        await pauseIfDue();
        if (row.names === null) continue;
        if (current.view.seesAll || this.policy.maySee(current.caller, JSON.parse(row.claims) as Claims))
          for (const name of row.names) names.add(name);
      }
      return [...names].sort();
    }
    throw new ApiError('database_timeout', CHANGES_TOO_FAST);
  }
}

type MaybeNames = NamesOfClaims | { readonly claims: null; readonly names: null };
