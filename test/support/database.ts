import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';

export interface TestDatabase {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  /** Connection settings as the configuration spells them. */
  readonly connection: { host: string; port: number; user: string; database: string };
  query<T extends object>(sql: string, values?: unknown[]): Promise<T[]>;
  drop(): Promise<void>;
}

/** The first PostgreSQL version that supports STRATEGY, as server_version_num. */
const KNOWS_STRATEGIES = 150_000;

/** This process's connection for creating and dropping databases. */
let administrator: Promise<pg.Client> | undefined;

/**
 * Creates a separate database for a test file or service: a copy of the migrated template, or an empty one.
 */
export async function aDatabase(options: { migrated?: boolean } = {}): Promise<TestDatabase> {
  const { host, port, user, template, pooler } = inject('postgres');
  const name = `t_${randomUUID().replaceAll('-', '')}`;
  const connect = async (database: string) => {
    const client = new pg.Client({ host, port, user, database });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  };
  const admin = await (administrator ??= connect('postgres').then(unreferenced));
  const { rows } = await admin.query<{ strategy: string }>(
    `select case when current_setting('server_version_num')::int >= ${KNOWS_STRATEGIES} then 'strategy file_copy' else '' end as strategy`,
  );
  // PostgreSQL refuses to copy a template while another session is connected to it, so copies are serialized.
  // The default strategy, wal_log, takes three times as long.
  await admin.query(`select pg_advisory_lock(1)`);
  await admin.query(
    `create database ${name} template ${options.migrated === false ? 'template1' : template} ${rows[0]?.strategy ?? ''}`,
  );
  await admin.query(`select pg_advisory_unlock(1)`);
  const client = await connect(name);
  // One at a time: pg will refuse a query while another one runs.
  let last: Promise<unknown> = Promise.resolve();
  return {
    host,
    port,
    user,
    database: name,
    connection: { host, port: pooler ?? port, user, database: name },
    query: async <T extends object>(sql: string, values: unknown[] = []) => {
      const result = last.then(() => client.query<T>(sql, values));
      last = result.catch(() => undefined);
      return (await result).rows;
    },
    drop: async () => {
      await client.end();
      await admin.query(`drop database ${name} with (force)`);
    },
  };
}

// The types lack `unref`.
function unreferenced(client: pg.Client & { unref?(): void }): pg.Client {
  client.unref?.();
  return client;
}
