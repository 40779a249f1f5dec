/**
 * SQL: true on a primary; raises SQLSTATE 55000 on a standby, whose rows may be older than the request. PostgreSQL
 * evaluates it once, before it reads anything. The functions are volatile, so a load balancer that parses statements,
 * such as pgpool-II, sends this one to the primary.
 */
export const ON_PRIMARY =
  '(select case when pg_is_in_recovery() then pg_current_wal_lsn() is not null else true end)';
