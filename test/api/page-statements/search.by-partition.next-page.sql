-- $1 = "{7,6,5}"
-- $2 = "epoch|7:1,6:1,5:1"
-- $3 = null
-- $4 = null
-- $5 = "{7,5}"
-- $6 = "{7,5,5}"
-- $7 = "{1,1,2}"
-- $8 = "server"
-- $9 = "we\u0001ea\u0001at\u0001th\u0001he\u0001er"
-- $10 = "%weather%"
-- $11 = "io.acme/deploy"
-- $12 = 8192
-- $13 = 248
-- $14 = "{1,2}"
-- $15 = false
-- $16 = "1"
-- $17 = 31
with currency as materialized (
  select concat_ws(' ', extract(epoch from pg_postmaster_start_time()), pg_relation_filepath('claim_set'),
    pg_relation_filepath('source'), pg_relation_filepath('source_partition')) || '|' || $1::int[]::text || '|' || array(select s.revision from source s where s.id = any($1::int[]) order by s.id)::text = $2 and ($3::text is null or exists (
  select from registry r
  where r.name = $3 and r.xmin::text = $4
    and array(select source_id from registry_source where registry_id = r.id order by position) = $1::int[]
)) as "isCurrent"
),
ranked as materialized (
  select source_id, rank::int from unnest($5::int[]) with ordinality as r(source_id, rank)
  where ($3::text is null or (select "isCurrent" from currency))
),
partitions as materialized (
  select p.id from unnest($6::int[], $7::int[]) as v(source_id, claim_set_id)
  join search_partition p on p.source_id = v.source_id and p.type = $8 and p.claim_set_id = v.claim_set_id
),
whole as materialized (
  select count(*) <= (select count(*) from partitions) as visible from (
    select 1 from search_partition p where p.type = $8 limit (select count(*) from partitions) + 1
  ) p
),
texts as (
  select t.entry_id, t.name, t.content from (
    select array(
      select string_to_array(p.id::text || ' ' || replace($9, chr(1), chr(1) || p.id::text || ' '), chr(1))::search_key_list from partitions p where not (select visible from whole)
    ) as keys offset 0
  ) asked cross join lateral (
    select t.entry_id, t.name, t.content from search_text t
    where search_keys(t.partition_id, t.type, t.grams) @> any (asked.keys) offset 0
  ) t
  union all
  select t.entry_id, t.name, t.content from (
    select t.entry_id, t.name, t.content from search_text t
    where search_keys(t.partition_id, t.type, t.grams) @> string_to_array($8 || ' ' || replace($9, chr(1), chr(1) || $8 || ' '), chr(1)) and (select visible from whole) offset 0
  ) t
  union all
  select t.entry_id, t.name, t.content from (
    select t.entry_id, t.name, t.content from search_text t where t.grams = '' and t.partition_id in (select id from partitions) offset 0
  ) t
),
nearest as materialized (
  select entry_id, name, number from (
    select t.entry_id, t.name, row_number() over () as number from texts t
    where t.content like $10 and t.name >= (select $11::text)
    limit $12::int + 1
  ) candidates
  order by case when number <= $12 then name else '' end limit $13::int + 1
),
total as materialized (
  select not exists (select 1 from nearest where number > $12) as complete
),
cut as materialized (
  select count(*) > $13 as "isCut", max(name) as before from nearest
)
select (select "isCurrent" from currency), total.complete, cut."isCut",
    found.name, found.version, found.key, found.status, found."statusMessage",
    found."statusChangedAt", found."publishedAt", found."updatedAt", found."isLatest",
    case when sum(octet_length(found.document)) over page <= 1048576 or row_number() over page = 1
      then found.document end as document
from total cross join cut left join (
  select c.name,
    v.version, v.version_key as key, v.document, v.status, v.status_message as "statusMessage",
    to_char(v.status_changed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "statusChangedAt",
    to_char(v.published_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "publishedAt",
    to_char(v.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt", v.is_latest as "isLatest"
  from (
    select entry_id, name from nearest
    where (select complete from total) and (not (select "isCut" from cut) or name < (select before from cut))
    group by name, entry_id order by name offset 0
  ) c
  cross join lateral (
    select e.source_id, e.claim_set_id, e.claims_changed_at from entry e
    where e.id = c.entry_id and e.type = $8 offset 0
  ) e
  cross join lateral (
    select r.rank from ranked r where r.source_id = e.source_id and (coalesce(e.claim_set_id = any($14::int[]), false) or $15::boolean) offset 0
  ) own
  cross join lateral (
    select 1 where not exists (
      select 1 from ranked r cross join lateral (
        select 1 from entry h
        where h.source_id = r.source_id and h.type = $8 and h.name = c.name
          and (coalesce(h.claim_set_id = any($14::int[]), false) or $15::boolean) offset 0
      ) h
      where r.rank < own.rank
    ) offset 0
  ) first
  cross join lateral (
    select * from (
      select * from entry_version o where o.entry_id = c.entry_id and true
      order by o.version_key desc offset 0
    ) v
    where v.status in ('active', 'deprecated', 'archived') and v.search like $10
      and true
      and (c.name > (select $11::text) or v.version_key < (select $16::text))
    order by v.version_key desc limit $17
  ) v
  order by c.name, v.version_key desc limit $17
) found on true
window page as (order by found.name, found.key desc rows unbounded preceding)
order by found.name, found.key desc
