-- $1 = "{7,6,5}"
-- $2 = "epoch|7:1,6:1,5:1"
-- $3 = null
-- $4 = null
-- $5 = "{7,5}"
-- $6 = 512
-- $7 = "1.0.0"
-- $8 = "server"
-- $9 = "{1,2}"
-- $10 = false
-- $11 = 31
with freshness as materialized (
  select (select case when pg_is_in_recovery() then pg_current_wal_lsn() is not null else true end) and concat_ws(' ', extract(epoch from pg_postmaster_start_time()), pg_relation_filepath('claim_set'),
    pg_relation_filepath('source'), pg_relation_filepath('source_partition')) || '|' || $1::int[]::text || '|' || array(select s.revision from source s where s.id = any($1::int[]) order by s.id)::text = $2 and ($3::text is null or exists (
  select from registry r
  where r.name = $3 and r.xmin::text = $4
    and array(select source_id from registry_source where registry_id = r.id order by position) = $1::int[]
)) as "isCurrent"
),
ranked as materialized (
  select source_id, rank::int from unnest($5::int[]) with ordinality as r(source_id, rank)
  where ($3::text is null or (select "isCurrent" from freshness))
),
total as materialized (
  select count(*) as n, count(*) <= $6 as complete from (
    select v.version from entry_version v
    where v.version >= (select $7::text)
    order by v.version limit $6 + 1
  ) v
  where v.version = (select $7::text)
),
candidates as materialized (
  select * from (
    select v.id, v.entry_id, v.version_key, v.updated_at, v.status in ('active', 'deprecated', 'archived') and v.version = $7 as passes
    from entry_version v
    where v.version >= (select $7::text)
    order by v.version limit $6 + 1
  ) c
  where (select complete from total) limit (select n from total)
),
visible as materialized (
  select e.name, c.version_key, c.id, r.rank
  from candidates c
  cross join lateral (
    select e.name, e.source_id, e.claim_set_id, e.claims_changed_at from entry e
    where e.id = c.entry_id and e.type = $8 offset 0
  ) e
  join ranked r on r.source_id = e.source_id
  where (select complete from total) and c.passes and (coalesce(e.claim_set_id = any($9::int[]), false) or $10::boolean)
    and true
    and true
    and true
),
shown as materialized (
  select s.name, s.version_key, s.id
  from (select * from visible order by name, version_key desc offset 0) s
  where not exists (
    select 1 from ranked r cross join lateral (
      select 1 from entry h
      where h.source_id = r.source_id and h.type = $8 and h.name = s.name
        and (coalesce(h.claim_set_id = any($9::int[]), false) or $10::boolean) offset 0
    ) h
    where r.rank < s.rank offset 0
  )
  order by s.name, s.version_key desc limit $11
)
select (select "isCurrent" from freshness), total.complete,
    found.name, found.version, found.key, found.status, found."statusMessage",
    found."statusChangedAt", found."publishedAt", found."updatedAt", found."isLatest",
    case when sum(octet_length(found.document)) over page <= 1048576 or row_number() over page = 1
      then found.document end as document
from total left join (
  select s.name,
    v.version, v.version_key as key, v.document, v.status, v.status_message as "statusMessage",
    to_char(v.status_changed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "statusChangedAt",
    to_char(v.published_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "publishedAt",
    to_char(v.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt", v.is_latest as "isLatest"
  from shown s join entry_version v on v.id = s.id
) found on true
window page as (order by found.name, found.key desc rows unbounded preceding)
order by found.name, found.key desc
