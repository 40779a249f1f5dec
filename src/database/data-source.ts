import { migrations } from '#migrations';
import pg from 'pg';
import { DataSource, type EntitySchema, type MixedList } from 'typeorm';
import type { ConnectionConfig } from './connection.js';
import { PoolClient } from './pool-client.js';

const CONNECT_TIMEOUT_MS = 5_000;
const STATEMENT_TIMEOUT_MS = 60_000;

/**
 * A TypeORM data source over one PostgreSQL. Not yet connected: call `initialize()`.
 *
 * @param onPoolError is told of connections that break while idle; without a handler they would end the process.
 */
export function createDataSource(
  connection: ConnectionConfig,
  // eslint's view of TypeORM: an entity is any class.
  entities: MixedList<Function | string | EntitySchema>,
  onPoolError: (error: Error) => void,
): DataSource {
  return new DataSource({
    type: 'postgres',
    driver: pg,
    entities,
    migrations,
    migrationsTableName: 'schema_migration',
    installExtensions: false,
    logging: false,
    poolErrorHandler: onPoolError,
    extra: {
      host: connection.host,
      port: connection.port,
      user: connection.user,
      database: connection.database,
      password: connection.password,
      ssl: connection.ssl ?? false,
      max: connection.poolMax,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      statement_timeout: STATEMENT_TIMEOUT_MS,
      Client: PoolClient,
      keepAlive: true,
      application_name: 'registry-server',
    },
  });
}

/** Resolves when PostgreSQL answers; rejects when it is not reachable. */
export async function ping(dataSource: DataSource): Promise<void> {
  await dataSource.query('select 1');
}
