import { type ViewOfPartitions, visibleSource } from '../../dist/visibility/view.js';
import type { TestDatabase } from './database.js';

export const BULK_SOURCES = 4;
export const BULK_CLAIM_SETS = 20;

/**
 * Fills a database with this many servers, each in two of four sources with two versions, under twenty claim
 * sets, and as many skills in one source each. A few are rare in each respect, regardless of the size. Does
 * not run ANALYZE.
 */
export async function fillCatalogue(database: TestDatabase, names: number): Promise<void> {
  for (const table of ['entry', 'entry_version', 'source_partition', 'claim_set'])
    await database.query(`alter table ${table} set (autovacuum_enabled = false)`);
  await database.query(
    `insert into claim_set (claims, digest)
     select jsonb_build_object('team', n::text), decode(lpad(n::text, 64, '0'), 'hex')
     from generate_series(1, ${BULK_CLAIM_SETS}) n`,
  );
  await database.query(
    `insert into source (name, kind, settings, claim_set_id, origin)
     select 's' || n, 'kubernetes', '{}', 1, 'api' from generate_series(1, ${BULK_SOURCES}) n`,
  );
  await database.query(
    `insert into entry (source_id, type, name, claim_set_id)
     select 1 + (n + twice) % ${BULK_SOURCES}, 'server', 'io.acme/' || md5(n::text), 1 + (n / 7) % ${BULK_CLAIM_SETS}
     from generate_series(1, $1::int) n, generate_series(0, 1) twice
     union all
     select 1 + n % ${BULK_SOURCES}, 'skill', 'io.acme/' || md5(n::text), 1 + n % ${BULK_CLAIM_SETS}
     from generate_series(1, $1::int) n`,
    [names],
  );
  await database.query(
    `insert into entry_version (entry_id, version, version_key, document, digest, status, status_changed_at,
       published_at, updated_at, is_latest, search)
     select e.id, case when e.id in (7, 8, 9) and n = 2 then '9.9.9' else n || '.0.0' end, n, repeat(md5(e.name), 10), '',
       case when e.type = 'skill' and e.at < 4 then 'archived' else 'active' end, t, t, t,
       e.type = 'skill' or n = 2,
       e.name || ' a server' || case when e.id in (4, 5, 6) then ' of xylophones' else '' end ||
         case when e.claim_set_id > 2 then ' clandestine' else '' end
     from (select *, row_number() over (partition by type order by id) as at from entry) e
     cross join generate_series(1, 2) n
     cross join lateral (
       select case when e.at < 4 then timestamptz '2026-06-01' else timestamptz '2026-01-01' + e.id * interval '1 second'
         end as t
     ) born
     where e.type = 'server' or n = 1`,
  );
  // Simulates claims that change long after publication.
  await database.query(
    `update entry set claims_changed_at = '2026-07-01' where type = 'server' and id in (10, 11, 12)`,
  );
}

/** The view of a caller who sees the first n claim sets. */
export function bulkView(claimSets: number): ViewOfPartitions {
  const claimSetIds = Array.from({ length: claimSets }, (_, index) => index + 1);
  const sourceIds = Array.from({ length: BULK_SOURCES }, (_, index) => index + 1);
  const visible = sourceIds.map((sourceId) => visibleSource(sourceId, claimSetIds));
  return { seesAll: false, visible, tag: `all of ${claimSets}`, sourceIds, revisions: '' };
}
