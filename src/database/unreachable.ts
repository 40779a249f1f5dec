/** SQLSTATE classes and codes that say "not now": connection failures, shut-downs, recovery, too many connections. */
const AWAY_STATES = /^(08...|57P0[1-5]|53300|25006)$/;
const AWAY_ERRNO = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);
const AWAY_MESSAGES =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Cannot use a pool after calling end|Query read timeout|Connection is not established|Driver not Connected|the database is not initialized)/i;

/**
 * Whether an error of node-postgres or TypeORM means that the database can't be reached for now, as against a fault of
 * ours. Decides between 503 (try again) and 500.
 */
export function isDatabaseUnreachable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof AggregateError) return error.errors.some(isDatabaseUnreachable);
  const { code, driverError, syscall } = error as Error & {
    code?: unknown;
    driverError?: unknown;
    syscall?: unknown;
  };
  if (driverError instanceof Error && driverError !== error && isDatabaseUnreachable(driverError))
    return true;
  if (typeof code === 'string') {
    if (AWAY_STATES.test(code)) return true;
    // ENOENT counts for a missing socket only, not for a missing file.
    if (AWAY_ERRNO.has(code)) return code !== 'ENOENT' || syscall === 'connect';
  }
  return AWAY_MESSAGES.test(error.message);
}

/**
 * Whether PostgreSQL gave up on a statement because it, or its wait for a lock, took too long (57014, 55P03), or would never
 * have ended (40P01, a deadlock): who tries again may be luckier.
 */
export function isStatementTimeout(error: unknown): boolean {
  return (
    error instanceof Error &&
    ['57014', '55P03', '40P01'].includes(String((error as Error & { code?: unknown }).code))
  );
}
