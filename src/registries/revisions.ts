/**
 * SQL: which run of PostgreSQL answers, with which tables. After a restore, or a failover that lost the last transactions, ids
 * and revisions begin again and mean something else: what was remembered before counts no more. A table that is made or
 * filled anew is another file.
 */
export const INCARNATION = `concat_ws(' ', pg_postmaster_start_time(), pg_relation_filenode('claim_set'), pg_relation_filenode('source'),
  pg_relation_filenode('source_partition'))`;

/** SQL: sources `s` at a place `p.place`, with their revisions, as a text that is equal as long as nothing of them has changed. */
export const REVISIONS = `${INCARNATION} || '|' || coalesce(string_agg(s.id || ':' || s.revision, ',' order by p.place), '')`;
