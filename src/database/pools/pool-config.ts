import type pg from 'pg';
import type { ConnectionConfig } from '../connection.js';
import { PoolClient } from './pool-client.js';

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
