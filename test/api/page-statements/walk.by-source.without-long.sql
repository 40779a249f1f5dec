-- $1 = "{7,6,5}"
-- $2 = "epoch|7:1,6:1,5:1"
-- $3 = null
-- $4 = null
-- $5 = "{7,5}"
-- $6 = "{1,2}"
-- $7 = false
-- $8 = "server"
-- $9 = 39
-- $10 = 39
-- $11 = 65536
-- $12 = 31
with freshness as materialized (
  select (select case when pg_is_in_recovery() then pg_current_wal_lsn() is not null else true end) and concat_ws(' ', extract(epoch from pg_postmaster_start_time()), pg_relation_filepath('claim_set'),
    pg_relation_filepath('source'), pg_relation_filepath('source_partition')) || '|' || $1::int[]::text || '|' || array(select s.revision from source s where s.id = any($1::int[]) order by s.id)::text = $2 and ($3::text is null or exists (
  select from registry r
  where r.name = $3 and r.xmin::text = $4
    and array(select source_id from registry_source where registry_id = r.id order by position) = $1::int[]
)) as "isCurrent"
),
ranked as materialized (
  select source_id, rank::int from unnest((select $5::int[])) with ordinality as r(source_id, rank)
  where ($3::text is null or (select "isCurrent" from freshness))
),
next_entries as materialized (
  select r.source_id, r.rank, e.id, e.name, e.claims_changed_at, (coalesce(e.claim_set_id in (select unnest((select $6::int[]))), false) or (select $7::boolean)) as visible
  from ranked r cross join lateral (
    select e.id, e.name, e.claim_set_id, e.claims_changed_at from entry e
    where e.source_id = r.source_id and e.type = (select $8::text)
      and true
    order by e.name limit (select $9::int)
  ) e
),
complete as materialized (
  select min(last_name) as last_name from (
    select max(name) as last_name from next_entries group by source_id having count(*) = $9
  ) source_with_more
),
names as materialized (
  select distinct on (name) id, name, claims_changed_at from next_entries
  where visible and ((select last_name from complete) is null or name <= (select last_name from complete))
  order by name, rank limit (select $10::int)
),
progress as (
  select case when (select count(*) from names) = $10 then (select max(name) from names)
    else (select last_name from complete) end as reached,
    (select avg(visible::int)::float8 from next_entries) as "visibleShare"
)
select (select "isCurrent" from freshness), progress.reached, progress."visibleShare",
    found.name, found.version, found.key, found.status, found."statusMessage",
    found."statusChangedAt", found."publishedAt", found."updatedAt", found."isLatest",
    case when sum(octet_length(found.document)) over page <= 1048576 or row_number() over page = 1
      then found.document end as document
from progress left join (
  select n.name,
    v.version, v.version_key as key, case when octet_length(v.document) <= (select $11::int) then v.document else '' end as document, v.status, v.status_message as "statusMessage",
    to_char(v.status_changed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "statusChangedAt",
    to_char(v.published_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "publishedAt",
    to_char(v.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt", v.is_latest as "isLatest"
  from names n cross join lateral (
    select * from (
      select * from entry_version o where o.entry_id = n.id and o.is_latest
      order by o.version_key desc offset 0
    ) v
    where v.status in ('active', 'deprecated', 'archived') and v.is_latest
      and true
      and true
    order by v.version_key desc limit (select $12::int)
  ) v
  order by n.name, v.version_key desc limit (select $12::int)
) found on true
window page as (order by found.name, found.key desc rows unbounded preceding)
order by found.name, found.key desc
