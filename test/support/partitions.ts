import type { ServiceUnderTest } from './service.js';

/** Spreads `entries` entries over the sources, each with its own claim set. */
export async function fillPartitions(
  { database }: ServiceUnderTest,
  sources: readonly string[],
  entries: number,
): Promise<void> {
  await database.query(
    `insert into claim_set (claims, digest)
     select jsonb_build_object('team', jsonb_build_array('t' || n, 'all')), decode(lpad(n::text, 64, '0'), 'hex')
     from generate_series(1, $1::int) n`,
    [entries],
  );
  await database.query(
    `with filled as (
       insert into entry (source_id, type, name, claim_set_id)
       select s.id, 'server', 'io.filled/' || c.id, c.id
       from unnest($1::text[]) with ordinality as n(name, place)
       join source s on s.name = n.name
       join claim_set c on c.id % cardinality($1::text[]) = n.place - 1 and c.claims->'team' @> '"all"'
       returning id, name
     )
     insert into entry_version (entry_id, version, version_key, document, digest, status, status_changed_at, published_at,
       updated_at, is_latest, search)
     select id, '1.0.0', '1', json_build_object('name', name, 'version', '1.0.0', 'description', 'Filled')::text, '', 'active',
       now(), now(), now(), true, name from filled`,
    [sources],
  );
}
