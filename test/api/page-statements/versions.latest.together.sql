-- $1 = "{7,6,5}"
-- $2 = "epoch|7:1,6:1,5:1"
-- $3 = null
-- $4 = null
-- $5 = ["io.acme/deploy","io.acme/deploy"]
-- $6 = ["1.0.0","1.0.0"]
-- $7 = "{7,5}"
-- $8 = "server"
-- $9 = "{1,2}"
-- $10 = false
select freshness."isCurrent", wanted.place::int, v.document, v.status, v.status_message as "statusMessage",
    to_char(v.status_changed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "statusChangedAt",
    to_char(v.published_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "publishedAt",
    to_char(v.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt", v.is_latest as "isLatest"
from (select (select case when pg_is_in_recovery() then pg_current_wal_lsn() is not null else true end) and concat_ws(' ', extract(epoch from pg_postmaster_start_time()), pg_relation_filepath('claim_set'),
    pg_relation_filepath('source'), pg_relation_filepath('source_partition')) || '|' || $1::int[]::text || '|' || array(select s.revision from source s where s.id = any($1::int[]) order by s.id)::text = $2 and ($3::text is null or exists (
  select from registry r
  where r.name = $3 and r.xmin::text = $4
    and array(select source_id from registry_source where registry_id = r.id order by position) = $1::int[]
)) as "isCurrent" offset 0) freshness
cross join unnest((select $5::text[]), (select $6::text[])) with ordinality wanted(name, version, place)
left join entry_version v on v.entry_id = (
  select e.id from entry e
  where e.source_id = any((select $7::int[])::int[]) and e.type = $8 and e.name = wanted.name
    and (coalesce(e.claim_set_id = any($9::int[]), false) or $10::boolean) and ($3::text is null or freshness."isCurrent")
  order by array_position((select $7::int[])::int[], e.source_id) limit 1
) and v.is_latest and v.status in ('active', 'deprecated', 'archived')
