/** SQLSTATEs of a standby: it refuses to write (25006), and statements with `ON_PRIMARY` fail (55000). */
const READ_ONLY_STATES = ['25006', '55000'];
/** SQLSTATEs that mean the server is temporarily unusable: connection failure, shutdown, recovery, too many connections. */
const UNREACHABLE_STATES = /^(08...|57P0[1-5]|53300)$/;
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
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Cannot use a pool after calling end|Query read timeout|Connection is not established|Driver not Connected|Query runner already released|the database is not initialized)/i;

/**
 * Whether an error from node-postgres or TypeORM means that the database is temporarily unreachable, rather than a bug
 * in this server. The result decides between 503 (retry) and 500.
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
  // PgBouncer uses one SQLSTATE for all errors; this one is permanent.
  if (error.message.startsWith('unsupported startup parameter')) return false;
  if (typeof code === 'string') {
    if (UNREACHABLE_STATES.test(code) || READ_ONLY_STATES.includes(code)) return true;
    // ENOENT from `connect` means a missing socket; any other ENOENT means a missing file.
    if (UNREACHABLE_ERRNOS.has(code)) return code !== 'ENOENT' || syscall === 'connect';
  }
  return UNREACHABLE_MESSAGES.test(error.message);
}

/** Whether PostgreSQL, or a pooler in front of it, refuses this role more connections. */
export function isOutOfConnections(error: unknown): boolean {
  return (
    sqlStateOf(error) === '53300' ||
    /^no more connections allowed/.test((error as Error | null)?.message ?? '')
  );
}

/**
 * Whether a statement timeout (57014), lock timeout (55P03), conflict with another transaction or lack of memory (53000,
 * 53200) ended a statement: a retry may succeed.
 */
export function isStatementTimeout(error: unknown): boolean {
  return ['57014', '55P03', '53000', '53200'].includes(sqlStateOf(error)) || isTransactionConflict(error);
}

/** Whether `statement_timeout` or an administrator ended a statement. */
export function isCanceled(error: unknown): boolean {
  return sqlStateOf(error) === '57014';
}

/** Whether PostgreSQL ended a transaction in favor of another one (40001, 40P01): an immediate retry may succeed. */
export function isTransactionConflict(error: unknown): boolean {
  return ['40001', '40P01'].includes(sqlStateOf(error));
}

/** Whether a lock timeout or a deadlock ended a statement: it succeeds once other sessions release their locks. */
export function isLockConflict(error: unknown): boolean {
  return ['55P03', '40P01'].includes(sqlStateOf(error));
}

const NO_SPACE = /No space left on device|Disk quota exceeded|Read-only file system/i;

/**
 * Whether the disk of PostgreSQL is full or read-only (reference/errors). Where PostgreSQL does not map the cause to disk_full
 * (53100), it reports io_error (58030), internal_error (XX000) or, if the disk is read-only, insufficient_privilege (42501) with
 * the operating system's message.
 */
export function isStorageFull(error: unknown): boolean {
  const state = sqlStateOf(error);
  return (
    state === '53100' ||
    (['58030', 'XX000', '42501'].includes(state) && NO_SPACE.test((error as Error).message))
  );
}

function sqlStateOf(error: unknown): string {
  return error instanceof Error ? String((error as Error & { code?: unknown }).code) : '';
}

/** The database cannot be used until the operator fixes the problem described in the message. */
export class DatabaseStartError extends Error {
  override readonly name = 'DatabaseStartError';
}

export interface Where {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
}

const CERTIFICATE_ERRORS =
  /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT|UNABLE_TO_GET_ISSUER_CERT_LOCALLY|CERT_\w+|ERR_TLS_CERT_ALTNAME_INVALID)$/;

/**
 * Describes a database error for the operator (reference/commands): which database, what is wrong, what to do. Returns
 * undefined for errors unrelated to the connection or its permissions.
 */
export function databaseStartError(error: unknown, where: Where): DatabaseStartError | undefined {
  if (error instanceof DatabaseStartError) return error;
  if (error instanceof AggregateError && error.errors.length > 0)
    return databaseStartError(error.errors[0], where);
  if (!(error instanceof Error)) return undefined;
  const { code, driverError } = error as Error & { code?: unknown; driverError?: unknown };
  if (driverError instanceof Error && driverError !== error) return databaseStartError(driverError, where);
  const sentence = remedyOf(String(code ?? ''), error, where);
  return sentence === undefined
    ? undefined
    : new DatabaseStartError(`The database ${databaseAddress(where)} ${sentence}`, { cause: error });
}

/** Name and address of a database for messages. */
export function databaseAddress({ host, port, database }: Where): string {
  return `${JSON.stringify(database)} at ${host.startsWith('/') ? host : `${host}:${port}`}`;
}

function remedyOf(code: string, error: Error, { host, user, database }: Where): string | undefined {
  const { message } = error;
  const syscall = (error as NodeJS.ErrnoException).syscall;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return `can't be found: the host name ${host} does not resolve. Check database.host or database.url`;
  if (code === 'ENOENT' && syscall === 'connect')
    return `has no socket at this path (${message}). Check database.host, and that PostgreSQL is running`;
  if (code === '28P01' || message.startsWith('SASL:'))
    return `rejects the password of user ${user} (${message}). Check database.password, database.passwordFile or ~/.pgpass`;
  if (code === '28000')
    return `rejects user ${user} (${message}). Check database.user, database.sslMode, and pg_hba.conf on the server`;
  if (code === '3D000')
    return `does not exist. Create it ("create database ${database} owner ${user}"), or check database.database or database.url`;
  if (message === 'The server does not support SSL connections')
    return 'does not support TLS. Check database.sslMode, or enable TLS on the server';
  if (CERTIFICATE_ERRORS.test(code))
    return `has a certificate that cannot be verified (${message}). Check database.sslRootCertFile, and that the certificate matches database.host`;
  if (code.startsWith('ERR_SSL_') || code.startsWith('ERR_OSSL_') || code === 'EPROTO')
    return `fails the TLS handshake (${message}). Check database.sslMode, sslCertFile and sslKeyFile`;
  if (isStorageFull(error))
    return `has a full or read-only disk (${message}). Free space on it, or enlarge it`;
  if (isOutOfConnections(error))
    return `grants user ${user} no more connections (${message}). Raise max_connections or the role's limit, or lower database.pool.max`;
  if (code === '42501')
    return `does not allow user ${user} to change it (${message}). Make this user the owner, or set database.migrationUser to the owner`;
  if (code === '08P01' && message.includes('startup parameter'))
    return `is behind a pooler that rejects a startup parameter (${message}). Set ignore_startup_parameters = statement_timeout in the pooler`;
  if (READ_ONLY_STATES.includes(code))
    return 'is read-only: it is a standby, or its default is read-only. Check that database.host is the primary';
  if (isDatabaseUnreachable(error))
    return `is not reachable (${message}). Check database.host, database.port, and that PostgreSQL listens on that address`;
  return undefined;
}
