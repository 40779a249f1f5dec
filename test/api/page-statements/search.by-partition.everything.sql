-- $1 = [7,5]
-- $2 = "{7,5,5}"
-- $3 = "{1,1,2}"
-- $4 = "server"
-- $5 = "10\u000100\u00010%"
-- $6 = "%100\\%%"
-- $7 = "io.acme/deploy"
-- $8 = 8192
-- $9 = "epoch|7:1,6:1,5:1"
-- $10 = [7,6,5]
-- $11 = "{1,1,2}"
-- $12 = false
-- $13 = "1.0.0"
-- $14 = "archived"
-- $15 = "2026-01-02T00:00:00.000Z"
-- $16 = "1"
-- $17 = 31
with ranked as materialized (
  select source_id, rank::int from unnest($1::int[]) with ordinality as r(source_id, rank)
),
partitions as materialized (
  select p.id from unnest($2::int[], $3::int[]) as v(source_id, claim_set_id)
  cross join lateral (
    select p.id from search_partition p
    where p.source_id = v.source_id and p.type = $4 and p.claim_set_id = v.claim_set_id offset 0
  ) p
),
whole as materialized (
  select count(*) <= (select count(*) from partitions) as visible from (
    select 1 from search_partition p where p.type = $4 limit (select count(*) from partitions) + 1
  ) p
),
texts as (
  select t.entry_id, t.name, t.content from partitions p cross join lateral (
    select t.entry_id, t.name, t.content from search_text t
    where search_keys(t.partition_id, t.type, t.grams) @> string_to_array(p.id::text || ' ' || replace($5, chr(1), chr(1) || p.id::text || ' '), chr(1)) offset 0
  ) t
  where not (select visible from whole)
  union all
  select t.entry_id, t.name, t.content from (
    select t.entry_id, t.name, t.content from search_text t
    where search_keys(t.partition_id, t.type, t.grams) @> string_to_array($4 || ' ' || replace($5, chr(1), chr(1) || $4 || ' '), chr(1)) and (select visible from whole) offset 0
  ) t
),
candidates as materialized (
  select t.entry_id, t.name from texts t
  where t.content like $6 and t.name >= $7
  limit $8::int + 1
),
total as materialized (
  select count(*) <= $8 as complete from candidates
)
select (
  select concat_ws(' ', extract(epoch from pg_postmaster_start_time()), pg_relation_filepath('claim_set'),
    pg_relation_filepath('source'), pg_relation_filepath('source_partition'))
    || '|' || coalesce(string_agg(s.id || ':' || s.revision, ',' order by p.position), '') = $9
  from unnest($10::int[]) with ordinality p(id, position) join source s on s.id = p.id
) as "isCurrent", total.complete,
    found.name, found.version, found.key, found.status, found."statusMessage",
    found."statusChangedAt", found."publishedAt", found."updatedAt", found."isLatest",
    case when sum(octet_length(found.document)) over page <= 1048576 or row_number() over page = 1
      then found.document end as document
from total left join (
  select c.name,
    v.version, v.version_key as key, v.document, v.status, v.status_message as "statusMessage",
    to_char(v.status_changed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "statusChangedAt",
    to_char(v.published_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "publishedAt",
    to_char(v.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt", v.is_latest as "isLatest"
  from (
    select entry_id, name from candidates where (select complete from total)
    group by name, entry_id order by name offset 0
  ) c
  cross join lateral (
    select e.source_id, e.claim_set_id, e.claims_changed_at from entry e
    where e.id = c.entry_id and e.type = $4 offset 0
  ) e
  cross join lateral (
    select r.rank from ranked r where r.source_id = e.source_id and (coalesce(e.claim_set_id = any($11::int[]), false) or $12::boolean) offset 0
  ) own
  cross join lateral (
    select 1 where not exists (
      select 1 from ranked r cross join lateral (
        select 1 from entry h
        where h.source_id = r.source_id and h.type = $4 and h.name = c.name
          and (coalesce(h.claim_set_id = any($11::int[]), false) or $12::boolean) offset 0
      ) h
      where r.rank < own.rank
    ) offset 0
  ) first
  cross join lateral (
    select * from (
      select * from entry_version o where o.entry_id = c.entry_id and o.version = (select $13::text)
      order by o.version_key desc offset 0
    ) v
    where v.status <> 'deleted' and v.version = $13 and v.status = $14 and v.search like $6
      and (v.updated_at >= $15::timestamptz or e.claims_changed_at >= $15::timestamptz)
      and (c.name > $7 or v.version_key < $16)
    order by v.version_key desc limit $17
  ) v
  order by c.name, v.version_key desc limit $17
) found on true
window page as (order by found.name, found.key desc rows unbounded preceding)
order by found.name, found.key desc
