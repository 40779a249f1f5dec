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

/** The database can't be used, and whoever runs the server can do something about it: the message says what. */
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

/** A sentence for whoever runs the server (contract §1): which database, what is wrong, and what helps; undefined for anything else. */
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
    : new DatabaseStartError(`The database ${addressOf(where)} ${sentence}`, { cause: error });
}

/** How a database is named in sentences. */
export function addressOf({ host, port, database }: Where): string {
  return `${JSON.stringify(database)} at ${host.startsWith('/') ? host : `${host}:${port}`}`;
}

function remedyOf(code: string, error: Error, { host, user, database }: Where): string | undefined {
  const { message } = error;
  const syscall = (error as NodeJS.ErrnoException).syscall;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return `can't be found: the name ${host} has no address. Check database.host or database.url`;
  if (code === 'ENOENT' && syscall === 'connect')
    return `has no socket there (${message}). Check database.host, and that PostgreSQL runs`;
  if (code === '28P01' || message.startsWith('SASL:'))
    return `refuses the password of the user ${user} (${message}). Check database.password, database.passwordFile or ~/.pgpass`;
  if (code === '28000')
    return `refuses the user ${user} (${message}). Check database.user, database.sslMode, and pg_hba.conf of the server`;
  if (code === '3D000')
    return `does not exist. Create it ("create database ${database} owner ${user}"), or check database.database or database.url`;
  if (message === 'The server does not support SSL connections')
    return 'does not encrypt connections. Check database.sslMode, or turn TLS on there';
  if (CERTIFICATE_ERRORS.test(code))
    return `has a certificate that is not accepted (${message}). Check database.sslRootCertFile, and that it is for the name in database.host`;
  if (code.startsWith('ERR_SSL_') || code.startsWith('ERR_OSSL_') || code === 'EPROTO')
    return `can't be spoken to by TLS (${message}). Check database.sslMode, sslCertFile and sslKeyFile`;
  if (code === '42501')
    return `does not let the user ${user} change it (${message}). Make it the owner, or name the owner in database.migrationUser`;
  if (/extension "pg_trgm"/.test(message))
    return `lacks the extension pg_trgm (${message}). Install it (Debian: postgresql-contrib), or have a superuser create it`;
  if (code === '08P01' && message.includes('startup parameter'))
    return `is behind a pooler that refuses a parameter (${message}). Set ignore_startup_parameters = statement_timeout there`;
  if (code === '25006')
    return 'takes no changes: it is a standby, or set to read-only. Check that database.host is the primary';
  if (isDatabaseUnreachable(error))
    return `is not reachable (${message}). Check database.host, database.port, and that PostgreSQL listens there`;
  return undefined;
}
