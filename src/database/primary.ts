/**
 * SQL: true on a primary; raises SQLSTATE 55000 on a standby. The functions are volatile, so a balancer that reads
 * statements, such as pgpool-II, sends the statement to the primary.
 */
const ON_PRIMARY =
  '(select case when pg_is_in_recovery() then pg_current_wal_lsn() is not null else true end)';

const READ = /^\s*(?:select|with)\b/i;
const CURSOR = /^\s*declare\s[\w\s]+?\scursor\s+for\s+/i;
/** Statements with these words fail on a standby by themselves. */
const WRITE =
  /\b(?:insert\s+into|delete\s+from|update\s+"?\w+"?\s+(?:\w+\s+)?set|for\s+(?:no\s+key\s+)?update|for\s+(?:key\s+)?share)\b/i;
const PROOF = `\n) answer where ${ON_PRIMARY}`;

/**
 * Makes a statement that only reads fail on a standby, whose rows may be older than the request; other statements stay
 * as they are. PostgreSQL evaluates the condition once, before it reads anything and even if there are no rows.
 * Applying it twice changes nothing.
 */
export function onPrimary(text: string): string {
  const [cursor] = CURSOR.exec(text) ?? [];
  if (cursor !== undefined) return `${cursor}${onPrimary(text.slice(cursor.length))}`;
  if (text.endsWith(PROOF) || !READ.test(text) || WRITE.test(text)) return text;
  return `select * from (\n${text}${PROOF}`;
}
