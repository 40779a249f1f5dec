import type { TestDatabase } from './database.js';

/** Inserts sources or registries in bulk, as the API would. Each has its own claims with `filler` characters. */
export async function insertMany(
  database: TestDatabase,
  what: 'source' | 'registry',
  { prefix, count, org, filler }: { prefix: string; count: number; org: string; filler: number },
): Promise<void> {
  const claims = `jsonb_build_object('org', $2::text, 'n', $1::text || n, 'filler', repeat('x', $3::int))`;
  await database.query(
    `with sets as (
       insert into claim_set (claims, digest)
       select ${claims}, sha256(convert_to($1::text || n || $2::text, 'UTF8')) from generate_series(1, $4::int) n
       on conflict (digest) do update set digest = excluded.digest
       returning id, claims->>'n' as name
     ), made as (
       ${
         what === 'registry'
           ? `insert into registry (name, claim_set_id, origin, position) select name, id, 'api', 0 from sets`
           : `insert into source (name, kind, settings, filter, interval_ms, claim_set_id, origin)
              select name, 'file', '{"url": "https://catalogue.example/a.json"}',
                jsonb_build_object('names', jsonb_build_object('exclude', jsonb_build_array(repeat('x', $3::int)))),
                86400000, id, 'api' from sets`
       }
       returning id
     )
     ${
       what === 'registry'
         ? 'select count(*) from made'
         : `insert into source_sync (source_id, next_run_at, status, last_success_at)
            select id, now() + interval '1 day', 'complete', now() from made`
     }`,
    [prefix, org, filler, count],
  );
}
