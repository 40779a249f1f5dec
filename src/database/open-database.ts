import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { DataSource, type EntitySchema, type MixedList } from 'typeorm';
import { migrations } from '#migrations';
import type { DatabaseTls } from '../config/database-settings.js';
import { PoolSemaphores } from './pool-semaphores.js';
import {
  CONNECT_TIMEOUT_MS,
  type ConnectionConfig,
  hasNoTls,
  poolConfig,
  STATEMENT_TIMEOUT_MS,
  tlsOptions,
} from './connection.js';
import {
  addressOf,
  DatabaseStartError,
  databaseStartError,
  isDatabaseUnreachable,
  type Where,
} from './database-errors.js';
import { startEmbeddedPostgres } from './embedded/embedded-postgres.js';
import { grantTo, migrateDown, migrateUp } from './migrate.js';
import { ReadinessPool } from './readiness-pool.js';
import { SearchPool } from './search-pool.js';

/** The oldest PostgreSQL, by its major version. */
const OLDEST = 14;

/** @throws DatabaseStartError for a version before the oldest that is supported. */
export function checkServerVersion(versionNumber: number, where: Where): void {
  const major = Math.floor(versionNumber / 10_000);
  if (major < OLDEST)
    throw new DatabaseStartError(
      `The database ${addressOf(where)} is PostgreSQL ${major}: this server needs ${OLDEST} or newer`,
    );
}

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

const PATIENCE_MS = 60_000;
const RETRY_MS = 1_000;
const EMBEDDED_POOL = 10;

export interface DatabaseSettings {
  /** Null: an embedded PostgreSQL under `dataDirectory`. */
  readonly connection:
    | (Omit<ConnectionConfig, 'ssl'> & {
        readonly tls?: DatabaseTls | undefined;
        readonly migration?: { user: string; password?: string | undefined } | undefined;
      })
    | null;
  readonly dataDirectory: string;
}

export interface OpenDatabase {
  readonly dataSource: DataSource;
  /** Connections beside those of `dataSource`, as are those of `readiness`. */
  readonly searches: SearchPool;
  readonly readiness: ReadinessPool;
  /** How the connections of `dataSource` are shared out. */
  readonly semaphores: PoolSemaphores;
  /** Settles with a reason when an embedded PostgreSQL dies by itself; never for any other. */
  readonly lost: Promise<string>;
  /** Applies pending migrations, as the migration role if there is one. Returns their names. */
  migrate(): Promise<string[]>;
  /**
   * Takes the newest migration back, as the migration role if there is one. Returns its name, or null without any.
   *
   * @param destructive also when that loses data.
   */
  undoMigration(destructive?: boolean): Promise<string | null>;
  close(): Promise<void>;
}

type Log = (message: string) => void;
type Connect = (connection: ConnectionConfig) => Promise<DataSource>;

/**
 * Connects to the configured PostgreSQL, or starts the embedded one. A database that is merely not there yet is awaited for
 * a minute, or until `stopping` says otherwise; a refusal (wrong password, no such database) is thrown at once.
 */
export async function openDatabase(
  settings: DatabaseSettings,
  entities: MixedList<Function | string | EntitySchema>,
  log: Log,
  stopping: AbortSignal = new AbortController().signal,
): Promise<OpenDatabase> {
  const connect = connector(entities, log, stopping);
  if (settings.connection) return openConfigured(settings.connection, connect, log);
  const embedded = await startEmbeddedPostgres(join(settings.dataDirectory, 'postgres'), { log });
  const connection = { ...embedded.connection, poolMax: EMBEDDED_POOL };
  try {
    const dataSource = await connect(connection);
    const pools = openPools(connection, log);
    return {
      dataSource,
      ...pools.opened,
      lost: embedded.exited,
      migrate: () => migrateUp(dataSource),
      undoMigration: (destructive) => migrateDown(dataSource, destructive),
      close: async () => {
        await pools.close();
        await dataSource.destroy();
        await embedded.stop();
      },
    };
  } catch (error) {
    await embedded.stop();
    throw error;
  }
}

async function openConfigured(
  settings: NonNullable<DatabaseSettings['connection']>,
  connect: Connect,
  log: Log,
): Promise<OpenDatabase> {
  const { tls, migration: role, ...where } = settings;
  const encrypted: ConnectionConfig = { ...where, ssl: tlsOptions(tls, where.host) };
  const { dataSource, connection } = await connectPreferring(encrypted, tls, connect);
  const pools = openPools(connection, log);
  // A role of its own may own the tables; the one the server runs as is then allowed to use them.
  const asOwner = async <T>(work: (owner: DataSource) => Promise<T>): Promise<T> => {
    const owner = role
      ? await connect({ ...connection, user: role.user, password: role.password, poolMax: 2 })
      : dataSource;
    try {
      return await work(owner);
    } catch (error) {
      throw databaseStartError(error, { ...connection, user: role?.user ?? connection.user }) ?? error;
    } finally {
      if (role) await owner.destroy();
    }
  };
  return {
    dataSource,
    ...pools.opened,
    lost: new Promise(() => undefined),
    migrate: () =>
      asOwner(async (owner) => {
        const applied = await migrateUp(owner);
        if (role && role.user !== connection.user) await grantTo(owner, connection.user);
        return applied;
      }),
    undoMigration: (destructive) => asOwner((owner) => migrateDown(owner, destructive)),
    close: async () => {
      await pools.close();
      await dataSource.destroy();
    },
  };
}

// libpq's `prefer`: what the server offers, for all connections alike.
async function connectPreferring(
  connection: ConnectionConfig,
  tls: DatabaseTls | undefined,
  connect: Connect,
): Promise<{ dataSource: DataSource; connection: ConnectionConfig }> {
  try {
    return { dataSource: await connect(connection), connection };
  } catch (error) {
    if (tls?.mode !== 'prefer' || !(error instanceof Error) || !hasNoTls(error.cause)) throw error;
    const plain = { ...connection, ssl: false as const };
    return { dataSource: await connect(plain), connection: plain };
  }
}

/** Pools that connect when they are first used. */
function openPools(connection: ConnectionConfig, log: Log) {
  const onError = (error: Error) => logBroken(log, error);
  const searches = new SearchPool(connection, onError);
  const readiness = new ReadinessPool(connection, onError);
  return {
    opened: { searches, readiness, semaphores: new PoolSemaphores(connection.poolMax) },
    close: async () => void (await Promise.all([searches.close(), readiness.close()])),
  };
}

function logBroken(log: Log, error: Error): void {
  log(`A connection broke: ${error.message}`);
}

function connector(
  entities: MixedList<Function | string | EntitySchema>,
  log: Log,
  stopping: AbortSignal,
): Connect {
  return async (connection) => {
    const deadline = Date.now() + PATIENCE_MS;
    for (let told = false; ; told = true) {
      const dataSource = createDataSource(connection, entities, (error) => logBroken(log, error));
      try {
        return await checked(await dataSource.initialize(), connection);
      } catch (error) {
        if (dataSource.isInitialized) await dataSource.destroy();
        if (!isDatabaseUnreachable(error) || Date.now() > deadline)
          throw databaseStartError(error, connection) ?? error;
        if (!told)
          log(
            `The database at ${connection.host}:${connection.port} is not reachable yet, waiting for it: ${reasonOf(error)}`,
          );
        await sleep(RETRY_MS, undefined, { signal: stopping });
      }
    }
  };
}

async function checked(dataSource: DataSource, connection: ConnectionConfig): Promise<DataSource> {
  const [server] = await dataSource.query<{ version: string; standby: boolean }[]>(
    `select current_setting('server_version_num') as version, pg_is_in_recovery() as standby`,
  );
  checkServerVersion(Number(server?.version), connection);
  // It may become the primary in a moment.
  if (server?.standby) throw Object.assign(new Error('it is a standby'), { code: '25006' });
  return dataSource;
}

// An address with several numbers fails with one error for each, and says nothing itself.
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}
