import { migrations } from '#migrations';
import pg from 'pg';
import { DataSource, type EntitySchema, type MixedList } from 'typeorm';
import type { ConnectionConfig } from './connection.js';
import { poolConfig } from './pools/pool-config.js';
import { CONNECT_TIMEOUT_MS, STATEMENT_TIMEOUT_MS } from './pools/pool-timeouts.js';

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
      ...poolConfig(connection),
      max: connection.poolMax,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      statement_timeout: STATEMENT_TIMEOUT_MS,
      application_name: 'registry-server',
    },
  });
}
