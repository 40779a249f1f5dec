import { join } from 'node:path';
import type { DataSource, EntitySchema, MixedList } from 'typeorm';
import { type ConnectionConfig } from './connection.js';
import { createDataSource } from './data-source.js';
import { isDatabaseAway } from './database-away.js';
import { startEmbeddedPostgres } from './embedded-postgres.js';
import { grantTo, migrateDown, migrateUp } from './migrate.js';

const PATIENCE_MS = 60_000;
const RETRY_MS = 1_000;
const EMBEDDED_POOL = 10;

export interface DatabaseSettings {
  /** Null: an embedded PostgreSQL under `dataDirectory`. */
  readonly connection:
    | (ConnectionConfig & {
        readonly migration?: { user: string; password?: string | undefined } | undefined;
      })
    | null;
  readonly dataDirectory: string;
}

export interface OpenDatabase {
  readonly dataSource: DataSource;
  /** Settles with a reason when an embedded PostgreSQL dies by itself; never for any other. */
  readonly lost: Promise<string>;
  /** Applies pending migrations, as the migration role if there is one. Returns their names. */
  migrate(): Promise<string[]>;
  /** Takes the newest migration back, as the migration role if there is one. Returns its name, or null without any. */
  undoMigration(): Promise<string | null>;
  close(): Promise<void>;
}

type Log = (message: string) => void;

/**
 * Reaches the configured PostgreSQL, or starts the embedded one. A database that is merely not there yet is awaited for
 * a minute; a refusal (wrong password, no such database) is thrown at once.
 */
export async function openDatabase(
  settings: DatabaseSettings,
  entities: MixedList<Function | string | EntitySchema>,
  log: Log,
): Promise<OpenDatabase> {
  if (settings.connection) return openConfigured(settings.connection, entities, log);
  const embedded = await startEmbeddedPostgres(join(settings.dataDirectory, 'postgres'), { log });
  const connection = { ...embedded.connection, poolMax: EMBEDDED_POOL };
  try {
    const dataSource = await connect(connection, entities, log);
    return {
      dataSource,
      lost: embedded.exited,
      migrate: () => migrateUp(dataSource),
      undoMigration: () => migrateDown(dataSource),
      close: async () => {
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
  connection: NonNullable<DatabaseSettings['connection']>,
  entities: MixedList<Function | string | EntitySchema>,
  log: Log,
): Promise<OpenDatabase> {
  const dataSource = await connect(connection, entities, log);
  const { migration: role } = connection;
  // A role of its own may own the tables; the one the server runs as is then allowed to use them.
  const asOwner = async <T>(work: (owner: DataSource) => Promise<T>): Promise<T> => {
    if (!role) return work(dataSource);
    const owner = await connect(
      { ...connection, user: role.user, password: role.password, poolMax: 2 },
      entities,
      log,
    );
    try {
      return await work(owner);
    } finally {
      await owner.destroy();
    }
  };
  return {
    dataSource,
    lost: new Promise(() => undefined),
    migrate: () =>
      asOwner(async (owner) => {
        const applied = await migrateUp(owner);
        if (role && role.user !== connection.user) await grantTo(owner, connection.user);
        return applied;
      }),
    undoMigration: () => asOwner(migrateDown),
    close: () => dataSource.destroy(),
  };
}

async function connect(
  connection: ConnectionConfig,
  entities: MixedList<Function | string | EntitySchema>,
  log: Log,
): Promise<DataSource> {
  const deadline = Date.now() + PATIENCE_MS;
  for (let told = false; ; told = true) {
    const dataSource = createDataSource(connection, entities, (error) =>
      log(`A connection broke: ${error.message}`),
    );
    try {
      return await dataSource.initialize();
    } catch (error) {
      if (!isDatabaseAway(error) || Date.now() > deadline) throw error;
      if (!told)
        log(`The database at ${connection.host}:${connection.port} is not reachable yet, waiting for it`);
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}
