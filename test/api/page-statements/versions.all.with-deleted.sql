-- $1 = "{7,6,5}"
-- $2 = "epoch|7:1,6:1,5:1"
-- $3 = null
-- $4 = null
-- $5 = "io.acme/deploy"
-- $6 = "{7,5}"
-- $7 = "server"
-- $8 = "{1,2}"
-- $9 = false
-- $10 = null
with freshness as materialized (
  select (select case when pg_is_in_recovery() then pg_current_wal_lsn() is not null else true end) and concat_ws(' ', extract(epoch from pg_postmaster_start_time()), pg_relation_filepath('claim_set'),
    pg_relation_filepath('source'), pg_relation_filepath('source_partition')) || '|' || $1::int[]::text || '|' || array(select s.revision from source s where s.id = any($1::int[]) order by s.id)::text = $2 and ($3::text is null or exists (
  select from registry r
  where r.name = $3 and r.xmin::text = $4
    and array(select source_id from registry_source where registry_id = r.id order by position) = $1::int[]
)) as "isCurrent"
)
select freshness."isCurrent",
    found.name, found.version, found.key, found.status, found."statusMessage",
    found."statusChangedAt", found."publishedAt", found."updatedAt", found."isLatest",
    case when sum(octet_length(found.document)) over page <= 1048576 or row_number() over page = 1
      then found.document end as document
from freshness left join (
  select $5::text as name,
    v.version, v.version_key as key, v.document, v.status, v.status_message as "statusMessage",
    to_char(v.status_changed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "statusChangedAt",
    to_char(v.published_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "publishedAt",
    to_char(v.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt", v.is_latest as "isLatest"
  from (
  select e.id from entry e
  where e.source_id = any((select $6::int[])::int[]) and e.type = $7 and e.name = $5
    and (coalesce(e.claim_set_id = any($8::int[]), false) or $9::boolean) and ($3::text is null or (select "isCurrent" from freshness))
  order by array_position((select $6::int[])::int[], e.source_id) limit 1
  ) first_entry join entry_version v on v.entry_id = first_entry.id
  where v.status in ('active', 'deprecated', 'deleted', 'archived')
    and ($10::text is null or v.version_key < $10)
) found on true
window page as (order by found.name, found.key desc rows unbounded preceding)
order by found.key desc limit 2001
