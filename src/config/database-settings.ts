import { parse, toClientConfig } from 'pg-connection-string';
import { isObject } from '../json/json-values.js';
import { below, type Issue, issue } from '../validation/problems.js';
import { type Check, text } from '../validation/value-checks.js';

export const SSL_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;
export type SslMode = (typeof SSL_MODES)[number];

/** How the connection to PostgreSQL is encrypted; in the words of libpq. */
export interface DatabaseTls {
  readonly mode: SslMode;
  /** PEM; absent: the authorities of Node, with NODE_EXTRA_CA_CERTS. */
  readonly rootCert?: string;
  /** The certificate that the server asks for, and its key: PEM. */
  readonly cert?: string;
  readonly key?: string;
}

/** The settings of the file about it. */
export interface DatabaseTlsSettings {
  readonly sslMode?: unknown;
  readonly sslRootCertFile?: unknown;
  readonly sslCertFile?: unknown;
  readonly sslKeyFile?: unknown;
}

export const TLS_FILES = ['sslRootCertFile', 'sslCertFile', 'sslKeyFile'] as const;

/** @param inUrl whether the URL of the database says how the connection is encrypted. */
export function tlsIssues(database: DatabaseTlsSettings, inUrl: boolean): Issue[] {
  const given = (['sslMode', ...TLS_FILES] as const).filter((key) => database[key] !== undefined);
  if (inUrl)
    return given.flatMap((key) => below([key], issue('is not possible beside a url that says the same')));
  const files = TLS_FILES.filter((key) => database[key] !== undefined);
  if (files.length > 0 && (database.sslMode === undefined || database.sslMode === 'disable'))
    return files.flatMap((key) => below([key], issue('has no effect without an sslMode that encrypts')));
  const pair = [database.sslCertFile, database.sslKeyFile].filter((file) => file !== undefined);
  return pair.length === 1
    ? below(
        [database.sslCertFile === undefined ? 'sslCertFile' : 'sslKeyFile'],
        issue('is required: certificate and key go together'),
      )
    : [];
}

/** What a connection URL says, in the words of node-postgres. */
export interface DatabaseUrl {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  readonly password?: string;
  /** Absent when the URL says nothing about TLS. */
  readonly tls?: DatabaseTls;
  /** Parameters that mean nothing here. */
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

/** Messages never show the URL: it may hold a password. */
export const databaseUrl: Check = text((value) => {
  const parsed = parseDatabaseUrl(value);
  return typeof parsed === 'string' ? parsed : undefined;
});

/**
 * Reads `postgres://user[:password]@host[:port]/database[?parameters]` as libpq understands it: `sslmode=require`
 * encrypts without verifying. `host` may be the directory of a socket, as a parameter or percent-encoded.
 *
 * @returns a sentence about what is wrong, without any part of the URL, when it can't be used.
 */
export function parseDatabaseUrl(value: unknown): DatabaseUrl | string {
  if (typeof value !== 'string' || !/^postgres(ql)?:\/\//i.test(value))
    return 'must be a URL such as postgres://user@host:5432/database';
  const parameters = parametersOf(value);
  const mode = parameters.get('sslmode');
  if (mode !== null && !isSslMode(mode)) return `must have an sslmode among ${SSL_MODES.join(', ')}`;
  try {
    // Saying it twice is an error there.
    const options = parameters.has('uselibpqcompat') ? {} : { useLibpqCompat: true };
    return describe(toClientConfig(parse(value, options)), parameters, mode);
  } catch (error) {
    return whyNot(error);
  }
}

function describe(
  client: ReturnType<typeof toClientConfig>,
  parameters: URLSearchParams,
  mode: SslMode | null,
): DatabaseUrl | string {
  const { user, database, password, ssl, port = 5432 } = client;
  if (!user) return 'must name the user: postgres://user@host:5432/database';
  if (!database) return 'must name the database: postgres://user@host:5432/database';
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

// Of files that it names, the parser has read the content.
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

function whyNot(error: unknown): string {
  const { code, path } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  if (path !== undefined) return `names a certificate or key that can't be read (${code}): ${path}`;
  if (error instanceof Error && error.message.includes('sslrootcert'))
    return 'needs an sslrootcert for sslmode=verify-ca';
  return 'is not a valid PostgreSQL URL; special characters in user and password must be percent-encoded';
}

/** Warnings about parameters of `database.url` that change nothing. */
export function unusedParameters(url: string | undefined): string[] {
  const parsed = url === undefined ? undefined : parseDatabaseUrl(url);
  if (parsed === undefined || typeof parsed === 'string') return [];
  return parsed.unused.map((name) => `database.url: the parameter ${JSON.stringify(name)} has no effect`);
}
