import { parse, toClientConfig } from 'pg-connection-string';
import { type DatabaseTls, SSL_MODES, type SslMode } from '../database/tls.js';
import { isObject } from '../json/json-values.js';
import { below, type Issue, issue } from '../validation/value-checks.js';

/** TLS settings in the file. */
export interface DatabaseTlsSettings {
  readonly sslMode?: unknown;
  readonly sslRootCertFile?: unknown;
  readonly sslCertFile?: unknown;
  readonly sslKeyFile?: unknown;
}

export const TLS_FILES = ['sslRootCertFile', 'sslCertFile', 'sslKeyFile'] as const;

/** @param inUrl Whether `database.url` contains TLS parameters. */
export function tlsIssues(database: DatabaseTlsSettings, inUrl: boolean): Issue[] {
  const given = (['sslMode', ...TLS_FILES] as const).filter((key) => database[key] !== undefined);
  if (inUrl)
    return given.flatMap((key) =>
      below([key], issue('must not be set together with a url that has TLS parameters')),
    );
  const files = TLS_FILES.filter((key) => database[key] !== undefined);
  if (files.length > 0 && (database.sslMode === undefined || database.sslMode === 'disable'))
    return files.flatMap((key) => below([key], issue('needs an sslMode other than disable')));
  const pair = [database.sslCertFile, database.sslKeyFile].filter((file) => file !== undefined);
  return pair.length === 1
    ? below(
        [database.sslCertFile === undefined ? 'sslCertFile' : 'sslKeyFile'],
        issue('is required: sslCertFile and sslKeyFile belong together'),
      )
    : [];
}

/** A parsed connection URL; members are named as in node-postgres. */
export interface DatabaseUrl {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  readonly password?: string;
  /** Absent if the URL has no TLS parameters. */
  readonly tls?: DatabaseTls;
  /** Names of the parameters that have no effect. */
  readonly unused: readonly string[];
}

const USED = [
  'host',
  'port',
  'user',
  'password',
  'sslmode',
  'sslcert',
  'sslkey',
  'sslrootcert',
  'uselibpqcompat',
];

/**
 * Parses `postgres://user[:password]@host[:port]/database[?parameters]` like libpq: `sslmode=require` encrypts without
 * verification. `host` may be the directory of a Unix socket, as a parameter or percent-encoded.
 *
 * @returns a message if the URL is invalid. The message never quotes the URL.
 */
export function parseDatabaseUrl(value: unknown): DatabaseUrl | string {
  if (typeof value !== 'string' || !/^postgres(ql)?:\/\//i.test(value))
    return 'must be a URL such as postgres://user@host:5432/database';
  const parameters = parametersOf(value);
  const mode = parameters.get('sslmode');
  if (mode !== null && !isSslMode(mode)) return `must have one of these sslmodes: ${SSL_MODES.join(', ')}`;
  try {
    // pg-connection-string rejects the parameter if the option is also set.
    const options = parameters.has('uselibpqcompat') ? {} : { useLibpqCompat: true };
    return describe(toClientConfig(parse(value, options)), parameters, mode);
  } catch (error) {
    return problemOf(error);
  }
}

function describe(
  client: ReturnType<typeof toClientConfig>,
  parameters: URLSearchParams,
  mode: SslMode | null,
): DatabaseUrl | string {
  const { user, database, password, ssl, port = 5432 } = client;
  if (!user) return 'must contain the user: postgres://user@host:5432/database';
  if (!database) return 'must contain the database: postgres://user@host:5432/database';
  if (port < 1 || port > 65_535) return 'must have a port from 1 to 65535';
  return {
    host: client.host || 'localhost',
    port,
    user,
    database,
    ...(typeof password === 'string' && password !== '' ? { password } : {}),
    ...(ssl === undefined ? {} : { tls: tlsOf(mode, ssl) }),
    unused: [...new Set(parameters.keys())].filter((name) => !USED.includes(name)),
  };
}

function isSslMode(mode: string): mode is SslMode {
  return SSL_MODES.some((known) => known === mode);
}

// The parser has replaced file names with the content of the files.
function tlsOf(mode: SslMode | null, ssl: unknown): DatabaseTls {
  if (ssl === false) return { mode: 'disable' };
  const text = (key: string) => (isObject(ssl) && typeof ssl[key] === 'string' ? ssl[key] : undefined);
  const [rootCert, cert, key] = ['ca', 'cert', 'key'].map(text);
  return {
    mode: mode ?? 'verify-full',
    ...(rootCert === undefined ? {} : { rootCert }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  };
}

function parametersOf(url: string): URLSearchParams {
  const start = url.indexOf('?');
  return new URLSearchParams(start < 0 ? '' : url.slice(start + 1).split('#')[0]);
}

function problemOf(error: unknown): string {
  const { code, path } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  if (path !== undefined) return `refers to a certificate or key file that can't be read (${code}): ${path}`;
  if (error instanceof Error && error.message.includes('sslrootcert'))
    return 'needs an sslrootcert for sslmode=verify-ca';
  return 'is not a valid PostgreSQL URL; special characters in user and password must be percent-encoded';
}

/** Warns about parameters in `database.url` that have no effect. */
export function unusedParameters(url: string | undefined): string[] {
  const parsed = url === undefined ? undefined : parseDatabaseUrl(url);
  if (parsed === undefined || typeof parsed === 'string') return [];
  return parsed.unused.map((name) => `database.url: the parameter ${JSON.stringify(name)} has no effect`);
}
