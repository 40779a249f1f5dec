/** SQL expression: a timestamp column as RFC 3339 text in UTC, the format of responses. */
export function utcText(column: string): string {
  return `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

/** Stands for `\u`, and keeps the text valid JSON even after another backslash. */
const ESCAPE = '/\ue000u';

/**
 * SQL expression: the raw text of a member of a document, for `parseJsonMember`. PostgreSQL's own functions fail for documents
 * with escapes such as `\u0000`, which other registries may serve.
 */
export function jsonMember(column: string, member: string): string {
  return `(replace(${column}, '\\u', '${ESCAPE}')::json->'${member}')::text`;
}

/** Returns the value that `jsonMember` selected. */
export function parseJsonMember(text: string): unknown {
  return JSON.parse(text.replaceAll(ESCAPE, '\\u'));
}

/** SQL expression for updates: the time `ms` milliseconds from now. */
export function timeIn(ms: number): () => string {
  return () => `now() + ${Number(ms)} * interval '1 millisecond'`;
}

/** SQL condition: the column equals one of these words, which are not escaped and must be constants. */
export function isOneOf(column: string, words: readonly string[]): string {
  return `${column} in (${words.map((word) => `'${word}'`).join(', ')})`;
}

/**
 * SQL: true on a primary; raises SQLSTATE 55000 on a standby, whose rows may be older than the request. PostgreSQL
 * evaluates it once, before it reads anything. The functions are volatile, so a load balancer that parses statements,
 * such as pgpool-II, sends this one to the primary.
 */
export const ON_PRIMARY =
  '(select case when pg_is_in_recovery() then pg_current_wal_lsn() is not null else true end)';
