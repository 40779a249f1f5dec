/**
 * SQL: which run of PostgreSQL answers, with which tables. After a restore, or a failover that lost the last transactions, ids
 * and revisions begin again and mean something else: what was cached before must not be used. A table that is created or
 * filled anew is another file, and so is each of a copy of the database that takes its place: the path names the database too.
 */
export const DATABASE_EPOCH = `concat_ws(' ', extract(epoch from pg_postmaster_start_time()), pg_relation_filepath('claim_set'),
    pg_relation_filepath('source'), pg_relation_filepath('source_partition'))`;
