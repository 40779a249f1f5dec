import { isIP } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import pg, { type Pool } from 'pg';
import type { DataSource } from 'typeorm';
import type { DatabaseTls } from '../config/database-settings.js';

/** How to reach one PostgreSQL; the names are those of node-postgres. A `host` beginning with "/" is a socket directory. */
export interface ConnectionConfig {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  readonly password?: string | undefined;
  readonly ssl?: false | object | undefined;
  /** Connections at most, in one process. */
  readonly poolMax: number;
}

/**
 * What node-postgres takes for a mode of libpq (PostgreSQL documentation §34.19): `prefer` and `require` encrypt without looking at
 * the certificate, `verify-ca` does not compare the host's name; and `require` with authorities verifies as `verify-ca` does.
 */
export function tlsOptions(tls: DatabaseTls | undefined, host: string): false | ConnectionOptions {
  // As libpq: not on the socket of this machine.
  if (!tls || tls.mode === 'disable' || host.startsWith('/')) return false;
  const { mode, rootCert, cert, key } = tls;
  const options: ConnectionOptions = {
    ...(rootCert === undefined ? {} : { ca: rootCert }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    // Node compares with a name that was resolved; an address it has to be told.
    ...(isIP(host) ? { host } : {}),
  };
  if (mode === 'verify-full') return options;
  const isVerified = mode === 'verify-ca' || (mode === 'require' && rootCert !== undefined);
  return isVerified
    ? { ...options, checkServerIdentity: () => undefined }
    : { ...options, rejectUnauthorized: false };
}

/** Whether a connection has failed because the server does not encrypt: what `prefer` goes on without. */
export function hasNoTls(error: unknown): boolean {
  return error instanceof Error && error.message === 'The server does not support SSL connections';
}

/**
 * A connection of the pool that survives its own end. The pool and TypeORM listen for errors in turns, and a connection
 * that is cut while it passes from one to the other would have nobody: the error would end the process. Whoever uses the
 * connection next is told, since the query fails.
 */
export class PoolClient extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super(config);
    this.on('error', () => undefined);
  }
}

/** What all pools of connections to the database have in common. */
export function poolConfig(connection: ConnectionConfig): pg.PoolConfig {
  return {
    host: connection.host,
    port: connection.port,
    user: connection.user,
    database: connection.database,
    password: connection.password,
    ssl: connection.ssl ?? false,
    Client: PoolClient,
    keepAlive: true,
  };
}

/** How long a new connection to PostgreSQL may take. */
export const CONNECT_TIMEOUT_MS = 5_000;
/** How long a statement may take. */
export const STATEMENT_TIMEOUT_MS = 60_000;
/** What PostgreSQL ends by itself of a search, should it not be told to. */
export const SEARCH_STATEMENT_TIMEOUT_MS = 30_000;

/** How much of a pool of connections is in use. */
export interface PoolUse {
  readonly max: number;
  readonly idle: number;
  readonly used: number;
  /** What waits for a connection. */
  readonly waiting: number;
}

export function useOf({ options, totalCount, idleCount, waitingCount }: Pool): PoolUse {
  return { max: options.max, idle: idleCount, used: totalCount - idleCount, waiting: waitingCount };
}

/** The pool of node-postgres below a data source; undefined while it is not connected. */
export function poolOf({ driver }: DataSource): Pool | undefined {
  const { master } = (driver ?? {}) as { readonly master?: Pool };
  return master;
}
