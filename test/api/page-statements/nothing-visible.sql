-- $1 = "epoch|7:1,6:1,5:1"
-- $2 = "{7,6,5}"
-- $3 = null
-- $4 = null
with currency as materialized (
  select (
  select concat_ws(' ', extract(epoch from pg_postmaster_start_time()), pg_relation_filepath('claim_set'),
    pg_relation_filepath('source'), pg_relation_filepath('source_partition'))
    || '|' || coalesce(string_agg(s.id || ':' || s.revision, ',' order by p.position), '') = $1
  from unnest($2::int[]) with ordinality p(id, position) join source s on s.id = p.id
) and ($3::text is null or exists (
  select from registry r
  where r.name = $3 and r.xmin::text = $4
    and array(select source_id from registry_source where registry_id = r.id order by position) = $2::int[]
)) as "isCurrent"
)
select "isCurrent" from currency
