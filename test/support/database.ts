import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';

export interface TestDatabase {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  /** Where it is, as a configuration says it. */
  readonly connection: { host: string; port: number; user: string; database: string };
  query<T extends object>(sql: string, values?: unknown[]): Promise<T[]>;
  drop(): Promise<void>;
}

/** The version, as PostgreSQL counts them. */
const KNOWS_STRATEGIES = 150_000;

/** The connection of this process by which databases are made and dropped. */
let administrator: Promise<pg.Client> | undefined;

/** A database of its own for one test file or service: a copy of the migrated template, or an empty one. */
export async function aDatabase(options: { migrated?: boolean } = {}): Promise<TestDatabase> {
  const { host, port, user, template, pooler } = inject('postgres');
  const name = `t_${randomUUID().replaceAll('-', '')}`;
  const connect = async (database: string) => {
    const client = new pg.Client({ host, port, user, database });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  };
  const admin = await (administrator ??= connect('postgres').then(keepsNothingWaiting));
  const { rows } = await admin.query<{ strategy: string }>(
    `select case when current_setting('server_version_num')::int >= ${KNOWS_STRATEGIES} then 'strategy file_copy' else '' end as strategy`,
  );
  // Copies of one template must not overlap: PostgreSQL refuses while another session is connected to it. Block by block, through
  // the log, which is what PostgreSQL does unless told, takes three times as long.
  await admin.query(`select pg_advisory_lock(1)`);
  await admin.query(
    `create database ${name} template ${options.migrated === false ? 'template1' : template} ${rows[0]?.strategy ?? ''}`,
  );
  await admin.query(`select pg_advisory_unlock(1)`);
  const client = await connect(name);
  return {
    host,
    port,
    user,
    database: name,
    connection: { host, port: pooler ?? port, user, database: name },
    query: async <T extends object>(sql: string, values: unknown[] = []) =>
      (await client.query<T>(sql, values)).rows,
    drop: async () => {
      await client.end();
      await admin.query(`drop database ${name} with (force)`);
    },
  };
}

// The types do not know of it.
function keepsNothingWaiting(client: pg.Client & { unref?(): void }): pg.Client {
  client.unref?.();
  return client;
}
