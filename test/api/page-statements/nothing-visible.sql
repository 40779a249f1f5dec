-- $1 = "{7,6,5}"
-- $2 = "epoch|7:1,6:1,5:1"
-- $3 = null
-- $4 = null
with freshness as materialized (
  select (select case when pg_is_in_recovery() then pg_current_wal_lsn() is not null else true end) and concat_ws(' ', extract(epoch from pg_postmaster_start_time()), pg_relation_filepath('claim_set'),
    pg_relation_filepath('source'), pg_relation_filepath('source_partition')) || '|' || $1::int[]::text || '|' || array(select s.revision from source s where s.id = any($1::int[]) order by s.id)::text = $2 and ($3::text is null or exists (
  select from registry r
  where r.name = $3 and r.xmin::text = $4
    and array(select source_id from registry_source where registry_id = r.id order by position) = $1::int[]
)) as "isCurrent"
)
select "isCurrent" from freshness
