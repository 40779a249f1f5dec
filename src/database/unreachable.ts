/** SQLSTATEs of a server that cannot be used for now: connection failures, shut-downs, recovery, too many connections. */
const UNREACHABLE_STATES = /^(08...|57P0[1-5]|53300|25006)$/;
const UNREACHABLE_ERRNOS = new Set([
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
const UNREACHABLE_MESSAGES =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Cannot use a pool after calling end|Query read timeout|Connection is not established|Driver not Connected|the database is not initialized)/i;

/**
 * Whether an error of node-postgres or TypeORM means that the database is not reachable for now, and not that we have a bug. Decides
 * between 503 (try again) and 500.
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
  // PgBouncer has one state for all its errors: this one does not pass.
  if (error.message.startsWith('unsupported startup parameter')) return false;
  if (typeof code === 'string') {
    if (UNREACHABLE_STATES.test(code)) return true;
    // ENOENT counts for a missing socket only, not for a missing file.
    if (UNREACHABLE_ERRNOS.has(code)) return code !== 'ENOENT' || syscall === 'connect';
  }
  return UNREACHABLE_MESSAGES.test(error.message);
}

/**
 * Whether PostgreSQL cancelled a statement because it, or its wait for a lock, took too long (57014, 55P03), or would never
 * have ended (40P01, a deadlock): another attempt may succeed.
 */
export function isStatementTimeout(error: unknown): boolean {
  return (
    error instanceof Error &&
    ['57014', '55P03', '40P01'].includes(String((error as Error & { code?: unknown }).code))
  );
}
