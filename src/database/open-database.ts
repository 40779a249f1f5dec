import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { DataSource, type EntitySchema, type MixedList } from 'typeorm';
import { migrations } from '#migrations';
import {
  CONNECT_TIMEOUT_MS,
  type ConnectionConfig,
  hasNoTls,
  poolConfig,
  type ServerConnections,
  useOf,
} from './connection.js';
import { ConnectionPool, poolOf, PoolSemaphores } from './connection-pool.js';
import {
  databaseAddress,
  DatabaseStartError,
  databaseStartError,
  isDatabaseUnreachable,
  type Where,
} from './database-errors.js';
import { findRunningPostgres, startEmbeddedPostgres } from './embedded/embedded-postgres.js';
import { grantTo, migrateDown, migrateUp } from './migrate.js';
import { ReadinessPool, ResponseWatch } from './readiness-pool.js';
import { SearchPool } from './search-pool.js';
import { type DatabaseTls, tlsOptions } from './tls.js';

/** Oldest supported major version. */
const MIN_MAJOR = 14;
const CONNECT_PATIENCE_MS = 60_000;
const RETRY_MS = 1_000;
const EMBEDDED_POOL = 10;
/** The running server needs most of the connections. */
const SHARED_POOL = 2;

/** @throws DatabaseStartError unless the major version is known and supported. */
export function checkServerVersion(major: number, where: Where): void {
  if (!(major >= MIN_MAJOR))
    throw new DatabaseStartError(
      `The database ${databaseAddress(where)} is PostgreSQL ${major}: this server needs ${MIN_MAJOR} or newer`,
    );
}

/**
 * Creates a TypeORM data source. It is not connected yet: call `initialize()`.
 *
 * @param onPoolError called when an idle connection breaks; without a handler the error would end the process.
 */
export function createDataSource(
  connection: ConnectionConfig,
  entities: MixedList<Function | string | EntitySchema>,
  onPoolError: (error: Error) => void,
  server?: ServerConnections,
): DataSource {
  return new DataSource({
    type: 'postgres',
    driver: { ...pg, Pool: ConnectionPool },
    entities,
    migrations,
    migrationsTableName: 'schema_migration',
    installExtensions: false,
    // A condition whose value is missing must never widen a read, an update or a deletion.
    invalidWhereValuesBehavior: { null: 'throw', undefined: 'throw' },
    logging: false,
    poolErrorHandler: onPoolError,
    extra: {
      ...poolConfig(connection, server),
      max: connection.poolMax,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      application_name: 'registry-server',
    },
  });
}

export interface DatabaseOptions {
  /** Null for embedded PostgreSQL under `dataDirectory`. */
  readonly connection:
    | (Omit<ConnectionConfig, 'ssl'> & {
        readonly tls?: DatabaseTls | undefined;
        readonly migration?: { user: string; password?: string | undefined } | undefined;
      })
    | null;
  readonly dataDirectory: string;
  /** Whether the caller only reads, and so may share the embedded PostgreSQL of a running server. */
  readonly onlyReads?: boolean;
}

export interface OpenDatabase {
  readonly dataSource: DataSource;
  /** A separate pool, like `readiness`. */
  readonly searches: SearchPool;
  readonly readiness: ReadinessPool;
  /** The watch is not started yet, because migrations may wait for a busy server. */
  readonly watch: ResponseWatch;
  /** Limits concurrent use of `dataSource`. */
  readonly semaphores: PoolSemaphores;
  /** Resolves with a reason when the embedded PostgreSQL exits unexpectedly; never settles for an external one. */
  readonly lost: Promise<string>;
  /** Repeats `work` during the start, for up to a minute while the database is unreachable. */
  retry<T>(work: () => Promise<T>): Promise<T>;
  /** Applies pending migrations, as the migration role if configured, and returns their names. */
  migrate(): Promise<string[]>;
  /**
   * Reverts the newest migration, as the migration role if configured. Returns its name, or null if no migration is
   * applied.
   *
   * @param destructive allows deleting data.
   */
  undoMigration(destructive?: boolean): Promise<string | null>;
  close(): Promise<void>;
}

type Log = (message: string) => void;
interface Opening {
  readonly log: Log;
  readonly stopping: AbortSignal;
  readonly server: ServerConnections;
}
type Connect = (connection: ConnectionConfig) => Promise<DataSource>;

/**
 * Connects to the configured PostgreSQL, or starts the embedded one. Retries for a minute if the database is
 * unreachable.
 *
 * @param stopping aborts the retries.
 * @throws DatabaseStartError after a minute, or immediately for other errors such as a wrong password.
 */
export async function openDatabase(
  settings: DatabaseOptions,
  entities: MixedList<Function | string | EntitySchema>,
  log: Log,
  stopping: AbortSignal = new AbortController().signal,
): Promise<OpenDatabase> {
  const opening: Opening = { log, stopping, server: { sockets: new Set(), isSilent: false } };
  const connect = connector(entities, opening);
  if (settings.connection) return openConfigured(settings.connection, connect, opening);
  const folder = join(settings.dataDirectory, 'postgres');
  const running = settings.onlyReads === true ? await findRunningPostgres(folder) : undefined;
  if (running) return openConfigured({ ...running, poolMax: SHARED_POOL }, connect, opening);
  const embedded = await startEmbeddedPostgres(folder, { log });
  try {
    const opened = await openConfigured({ ...embedded.connection, poolMax: EMBEDDED_POOL }, connect, opening);
    return {
      ...opened,
      lost: embedded.exited,
      close: async () => {
        await opened.close();
        await embedded.stop();
      },
    };
  } catch (error) {
    await embedded.stop();
    throw error;
  }
}

async function openConfigured(
  settings: NonNullable<DatabaseOptions['connection']>,
  connect: Connect,
  opening: Opening,
): Promise<OpenDatabase> {
  const { tls, migration: role, ...where } = settings;
  const encrypted: ConnectionConfig = { ...where, ssl: tlsOptions(tls, where.host) };
  const { dataSource, connection } = await connectPreferring(encrypted, tls, connect);
  const pools = openPools(dataSource, connection, opening);
  // A separate role may own the tables; the role of the running server is then granted access.
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
      asOwner((owner) =>
        pools.opened.retry(async () => {
          const applied = await migrateUp(owner, opening.log);
          if (role && role.user !== connection.user) await grantTo(owner, connection.user);
          return applied;
        }),
      ),
    undoMigration: (destructive) => asOwner((owner) => migrateDown(owner, destructive, opening.log)),
    close: async () => {
      await pools.close();
      await dataSource.destroy();
    },
  };
}

// Connections with sslmode `prefer` use TLS if the server supports it. This is decided once for all connections.
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

function openPools(dataSource: DataSource, connection: ConnectionConfig, opening: Opening) {
  const { log, server } = opening;
  const onError = (error: Error) => logBroken(log, error);
  const searches = new SearchPool(connection, onError, server);
  const readiness = new ReadinessPool(connection, onError, () => poolOf(dataSource)?.isConnected === true);
  const isInUse = () => {
    const main = poolOf(dataSource);
    return searches.use.used > 0 || (main !== undefined && useOf(main).used > 0);
  };
  const watch = new ResponseWatch(server, readiness, isInUse, log);
  return {
    opened: {
      searches,
      readiness,
      watch,
      semaphores: new PoolSemaphores(connection.poolMax),
      retry: <T>(work: () => Promise<T>) => whileUnreachable(connection, opening, work),
    },
    close: async () => {
      watch.end();
      await Promise.all([searches.close(), readiness.close()]);
    },
  };
}

function logBroken(log: Log, error: Error): void {
  log(`A database connection failed: ${error.message}`);
}

function connector(entities: MixedList<Function | string | EntitySchema>, opening: Opening): Connect {
  const { log, server } = opening;
  return (connection) =>
    whileUnreachable(connection, opening, async () => {
      const dataSource = createDataSource(connection, entities, (error) => logBroken(log, error), server);
      try {
        await dataSource.initialize();
        checkServerVersion(serverVersion(dataSource), connection);
        return dataSource;
      } catch (error) {
        if (dataSource.isInitialized) await dataSource.destroy();
        throw error;
      }
    });
}

/**
 * Repeats `work` for a minute while it fails because the database is unreachable: it refuses connections, has too many
 * of them, is starting, or is a standby.
 *
 * @throws DatabaseStartError after a minute, or immediately for another error that the operator can fix.
 */
async function whileUnreachable<T>(
  where: Where,
  { log, stopping }: Opening,
  work: () => Promise<T>,
): Promise<T> {
  const deadline = Date.now() + CONNECT_PATIENCE_MS;
  for (let isLogged = false; ; isLogged = true)
    try {
      return await work();
    } catch (error) {
      if (!isDatabaseUnreachable(error) || Date.now() > deadline)
        throw databaseStartError(error, where) ?? error;
      if (!isLogged)
        log(
          `The database at ${where.host}:${where.port} is not reachable yet, waiting for it: ${reasonOf(error)}`,
        );
      await sleep(RETRY_MS, undefined, { signal: stopping });
    }
}

/** Returns the major version of PostgreSQL, which TypeORM reads when it connects; NaN if unknown. */
export function serverVersion({ driver }: DataSource): number {
  return Number.parseInt(driver.version ?? '', 10);
}

// A failed connection to a host name with several addresses throws an AggregateError that has no message.
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}
