/**
 * SQL: which run of PostgreSQL answers, with which tables. After a restore, or a failover that lost the last transactions, ids
 * and revisions begin again and mean something else: what was remembered before counts no more. A table that is made or
 * filled anew is another file, and so is each of a copy of the database that takes its place: the path names the database too.
 */
export const DATABASE_EPOCH = `concat_ws(' ', extract(epoch from pg_postmaster_start_time()), pg_relation_filepath('claim_set'), pg_relation_filepath('source'),
  pg_relation_filepath('source_partition'))`;

/** SQL: sources `s` at a place `p.place`, with their revisions, as a text that is equal as long as nothing of them has changed. */
export const REVISIONS = `${DATABASE_EPOCH} || '|' || coalesce(string_agg(s.id || ':' || s.revision, ',' order by p.place), '')`;
