import { Socket } from 'node:net';
import type pg from 'pg';
import { ON_PRIMARY } from './sql-expressions.js';

/** Connection settings, named as in node-postgres. A `host` that starts with "/" is a socket directory. */
export interface ConnectionConfig {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  readonly password?: string | undefined;
  readonly ssl?: false | object | undefined;
  /** Maximum number of connections in the main pool of one process. */
  readonly poolMax: number;
}

/** Whether a connection failed because the server does not support TLS; `prefer` then falls back to plain text. */
export function hasNoTls(error: unknown): boolean {
  return error instanceof Error && error.message === 'The server does not support SSL connections';
}

/** The connections of all pools to one server, which fail together while it does not respond. */
export interface ServerConnections {
  readonly sockets: Set<Socket>;
  /** Set by ResponseWatch; connecting then fails immediately. */
  isSilent: boolean;
}

function socketsOf({ sockets }: ServerConnections): () => Socket {
  return () => {
    const socket = new Socket();
    sockets.add(socket);
    return socket.once('close', () => sockets.delete(socket));
  };
}

/**
 * Reads wait this long for locks, such as the lock of a DBA's `alter table` (reference/errors); transactions set their
 * own limit.
 */
const LOCK_TIMEOUT_MS = 4_000;

/**
 * Settings that our statements rely on. They override what an administrator has set for the server, the database or the
 * role. Most are PostgreSQL's defaults; the search path is the schema that has our tables.
 */
const SESSION_SETTINGS = {
  default_transaction_isolation: 'read committed',
  array_nulls: 'on',
  // By default PostgreSQL optimizes a cursor for its first rows; ours are read to the end.
  cursor_tuple_fraction: '1',
  DateStyle: 'ISO',
  // Other values disable the triggers that maintain partitions, on which visibility depends. Only superusers may set it.
  session_replication_role: 'origin',
  standard_conforming_strings: 'on',
  lock_timeout: String(LOCK_TIMEOUT_MS),
  idle_in_transaction_session_timeout: '0',
  idle_session_timeout: '0',
  transaction_timeout: '0',
};

// Leaves out settings that older versions of PostgreSQL lack. Two schemas with our tables belong to two installations, of
// which the administrator's search path chooses one.
const APPLY_SETTINGS = `select set_config(name, value, false) from (
  values ${Object.entries(SESSION_SETTINGS)
    .map(([name, value]) => `('${name}', '${value}')`)
    .join(', ')}
  union all
  select 'search_path', format('%I, %s', min(n.nspname), current_setting('search_path'))
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relname = 'schema_migration' and c.relkind = 'r' having count(*) = 1
) needed (name, value)
where current_setting(name, true) <> value and ${ON_PRIMARY}`;

/**
 * Fails on a standby, so that the pool closes the connection. The pool awaits the result before it hands out the
 * connection, although its types don't show that.
 */
function applySettings(client: pg.ClientBase): unknown {
  // While a connection passes between the pool and TypeORM, neither has a listener, and an error at that moment would
  // end the process. The next query on the connection still fails.
  client.on('error', () => undefined);
  return client.query(APPLY_SETTINGS);
}

const STATEMENT_TIMEOUT_MS = 60_000;
/** Connections are checked only when they are opened, so they are replaced regularly. */
const MAX_LIFETIME_SECONDS = 600;

/** Options common to all connection pools. */
export function poolConfig(
  connection: ConnectionConfig,
  server?: ServerConnections,
): pg.PoolConfig & { readonly server?: ServerConnections } {
  return {
    host: connection.host,
    port: connection.port,
    user: connection.user,
    database: connection.database,
    password: connection.password,
    ssl: connection.ssl ?? false,
    keepAlive: true,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    maxLifetimeSeconds: MAX_LIFETIME_SECONDS,
    onConnect: applySettings,
    ...(server ? { server, stream: socketsOf(server) } : {}),
  };
}

/** reference/errors: below five seconds. */
export const CONNECT_TIMEOUT_MS = 4_000;

/** Usage of a connection pool. */
export interface PoolUse {
  readonly max: number;
  readonly idle: number;
  readonly used: number;
  /** Queued requests for a connection. */
  readonly waiting: number;
}

export function useOf({ options, totalCount, idleCount, waitingCount }: pg.Pool): PoolUse {
  return { max: options.max, idle: idleCount, used: totalCount - idleCount, waiting: waitingCount };
}
