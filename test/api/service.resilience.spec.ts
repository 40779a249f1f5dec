import { randomUUID } from 'node:crypto';
import type { Stats } from 'node:fs';
import { chmod, chown, cp, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migrations } from '#migrations';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../dist/database/embedded/embedded-postgres.js';
import { Cli } from '../support/cli.js';
import { aDatabase } from '../support/database.js';
import { DatabaseAddress } from '../support/database-address.js';
import { aCatalogue, aServer } from '../support/documents.js';
import { freePort } from '../support/free-port.js';
import { call, type Reply } from '../support/http.js';
import { expectRefused, versionsIn } from '../support/matchers.js';
import { inSoak } from '../support/soak.js';
import { waitingStatements } from '../support/waiting-statements.js';
import { within } from '../support/within.js';

/** How often the server's connections are cut. */
const CUTS = inSoak(60, 5);
const KILLED_ENTRIES = inSoak(3_000, 200);
/** Roughly the duration of a sync in the soak tests. */
const SYNC_MS = 1_400;
/** When the server is killed: this many ms after the start of a sync, while it writes, and after its end. */
const KILLS = [
  ...inSoak(
    Array.from({ length: 16 }, (_, round) => 50 + (round * SYNC_MS) / 16),
    [],
  ),
  'writing',
  'synced',
] as const;
/** Pause between the requests of one client, ms. */
const THINKING_MS = inSoak(10, 50);

// Tests that mostly wait for processes run side by side; those that depend on timing do not.
const SIDE_BY_SIDE = { concurrent: true };
let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'registry-resilience-'));
  await chmod(folder, 0o755);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function configuration(name: string, catalogue: unknown, database: unknown): Promise<string> {
  const file = join(folder, `${name}.json`);
  await writeFile(file, JSON.stringify(catalogue));
  const yaml = join(folder, `${name}.yaml`);
  const declared = {
    auth: { mode: 'anonymous' },
    sources: [{ name: 'main', file: { path: file }, syncPolicy: { interval: '1h' } }],
    registries: [{ name: 'main', sources: ['main'] }],
    limits: { searchesPerCaller: 100 },
    ...(database ? { database } : {}),
  };
  await writeFile(yaml, JSON.stringify(declared));
  return yaml;
}

function connectionOf({ connection: { host, port, user, database } }: EmbeddedPostgres): object {
  return { host, port, user, database };
}

/** Starts a process that serves the configuration; returns it with its origin. */
async function serving(config: string, environment: Record<string, string> = {}) {
  const [port, internalPort] = [await freePort(), await freePort()];
  const addresses = ['--address', `127.0.0.1:${port}`, '--internal-address', `127.0.0.1:${internalPort}`];
  const cli = new Cli(['serve', '--config', config, ...addresses], environment);
  const list = (search = '') =>
    call(`http://127.0.0.1:${port}/registry/main/v0.1/servers?limit=100&search=${search}`);
  const publish = async (name: string) => {
    const sent = { method: 'POST', headers: { 'Content-Type': 'application/json' } };
    const body = JSON.stringify({ server: aServer(name) });
    expect((await call(`http://127.0.0.1:${port}/v1/entries`, { ...sent, body })).status).toBe(201);
  };
  const internal = (path: string) => call(`http://127.0.0.1:${internalPort}${path}`);
  return { cli, list, publish, internal };
}

const answers = (list: () => Promise<Reply>, status: number) =>
  within(30_000, async () => expect((await list()).status).toBe(status));

describe('a database outage under load', SIDE_BY_SIDE, () => {
  let postgres: EmbeddedPostgres;
  const start = (socket?: string) =>
    startEmbeddedPostgres(join(folder, 'away'), socket === undefined ? {} : { socketDirectory: socket });

  it('answers 503 meanwhile and recovers without a restart', async () => {
    postgres = await start();
    const { host } = postgres.connection;
    const config = await configuration('away', aCatalogue([aServer('io.acme/a')]), connectionOf(postgres));
    const { cli, list, internal } = await serving(config);
    await cli.logs('"Ready"');
    const statuses = new Set<number>();
    let loading = true;
    const load = Promise.all(
      Array.from({ length: 8 }, async () => {
        while (loading) {
          statuses.add((await list()).status);
          await pause(THINKING_MS);
        }
      }),
    );
    await postgres.stop();
    await answers(list, 503);
    const refused = await list();
    expectRefused(refused, 503, 'database_unavailable');
    expect(refused.headers['retry-after']).toBe('2');
    expect((await internal('/readiness')).status).toBe(503);
    expect((await internal('/health')).status).toBe(200);
    postgres = await start(host);
    await answers(list, 200);
    expect(versionsIn(await list())).toEqual(['io.acme/a@1.0.0']);
    await within(30_000, async () =>
      expect((await internal('/readiness')).json).toEqual({ status: 'ready' }),
    );
    loading = false;
    await load;
    expect([...statuses].sort()).toEqual([200, 503]);
    cli.child.kill('SIGTERM');
    expect((await cli.finished).code).toBe(0);
    await postgres.stop();
  });
});

describe('a database that refuses connections during the start', SIDE_BY_SIDE, () => {
  it.each([
    ['53300', 0],
    ['57P03', 2],
  ])('with SQLSTATE %s after %s connections is waited for', async (state, accepted) => {
    const address = new DatabaseAddress();
    await address.listen();
    const database = await aDatabase({ migrated: false });
    const { user, database: name } = database;
    address.leadTo(database);
    address.refuse(state, accepted);
    const connection = { host: '127.0.0.1', port: address.port, user, database: name };
    const config = await configuration(
      `refused-${state}-${accepted}`,
      aCatalogue([aServer('io.acme/a')]),
      connection,
    );
    const { cli, list } = await serving(config);
    await within(30_000, () => expect(address.refused).toBeGreaterThan(1));
    expect(cli.child.exitCode).toBeNull();
    address.accept();
    await cli.logs('"Ready"');
    expect(versionsIn(await list())).toEqual(['io.acme/a@1.0.0']);
    cli.child.kill('SIGTERM');
    expect((await cli.finished).code).toBe(0);
    await database.drop();
    address.close();
  });
});

describe('a database restored to an earlier state under a running server', SIDE_BY_SIDE, () => {
  it('invalidates everything cached from the lost future', async () => {
    const data = join(folder, 'restored');
    const start = (socket?: string) =>
      startEmbeddedPostgres(data, socket === undefined ? {} : { socketDirectory: socket });
    let postgres = await start();
    const { host } = postgres.connection;
    const yaml = join(folder, 'restored.yaml');
    const declared = {
      auth: { mode: 'anonymous' },
      sources: [{ name: 'main', managed: {} }],
      registries: [{ name: 'main', sources: ['main'] }],
      database: connectionOf(postgres),
    };
    await writeFile(yaml, JSON.stringify(declared));
    const { cli, list, publish } = await serving(yaml);
    await cli.logs('"Ready"');
    await postgres.stop();
    const owner = await stat(data);
    await cp(data, `${data}.copy`, { recursive: true, preserveTimestamps: true });
    postgres = await start(host);
    await answers(list, 200);
    await publish('io.acme/lost');
    expect(versionsIn(await list())).toEqual(['io.acme/lost@1.0.0']);
    await postgres.stop();
    await rm(data, { recursive: true });
    await rename(`${data}.copy`, data);
    await giveTo(owner, data);
    postgres = await start(host);
    await answers(list, 200);
    await publish('io.acme/found');
    expect(versionsIn(await list())).toEqual(['io.acme/found@1.0.0']);
    cli.child.kill('SIGTERM');
    expect((await cli.finished).code).toBe(0);
    await postgres.stop();
  });

  // The copy belongs to the test's user; PostgreSQL refuses a data directory of another owner.
  async function giveTo({ uid, gid }: Stats, folderOfData: string): Promise<void> {
    for (const name of await readdir(folderOfData, { recursive: true }))
      await chown(join(folderOfData, name), uid, gid);
    await chown(folderOfData, uid, gid);
  }
});

describe('the embedded PostgreSQL', SIDE_BY_SIDE, () => {
  it('keeps its data between runs, stops with the server, and recovers from SIGKILL', async () => {
    const config = await configuration('embedded', aCatalogue([aServer('io.acme/a')]), null);
    const environment = { REGISTRY_DATA_DIR: join(folder, 'data'), PGHOST: '/nonexistent', PGPORT: '1' };
    const first = await serving(config, environment);
    await first.cli.logs('"Ready"');
    const before = (await first.list()).text;
    first.cli.child.kill('SIGTERM');
    expect((await first.cli.finished).code).toBe(0);
    const second = await serving(config, environment);
    await second.cli.logs('"Ready"');
    expect((await second.list()).text).toBe(before);
    second.cli.child.kill('SIGKILL');
    await second.cli.finished;
    const third = await serving(config, environment);
    await third.cli.logs('"Ready"');
    expect((await third.list()).text).toBe(before);
    third.cli.child.kill('SIGINT');
    expect((await third.cli.finished).code).toBe(0);
  });
});

describe('a server whose database connections are cut repeatedly', () => {
  it('keeps answering and recovers fully', async () => {
    const database = await aDatabase();
    const config = await configuration('cut', aCatalogue([aServer('io.acme/a')]), database.connection);
    const { cli, list } = await serving(config);
    await cli.logs('"Ready"');
    const statuses = new Set<number>();
    let cutting = true;
    const load = Promise.all(
      Array.from({ length: 12 }, async () => {
        // Each search is new, so none is cached.
        while (cutting) {
          statuses.add((await list(randomUUID())).status);
          await pause(THINKING_MS);
        }
      }),
    );
    for (let cut = 0; cut < CUTS; cut += 1) {
      await database.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid()`,
      );
      await list();
    }
    cutting = false;
    await load;
    await answers(list, 200);
    expect([...statuses].filter((status) => status !== 200 && status !== 503)).toEqual([]);
    cli.child.kill('SIGTERM');
    expect((await cli.finished).code).toBe(0);
    await database.drop();
  });
});

describe('a server killed with SIGKILL during a sync', () => {
  const generation = (round: number) =>
    aCatalogue(
      Array.from({ length: KILLED_ENTRIES }, (_, i) =>
        aServer(`io.acme/s${i}`, `1.0.${round}`, { filler: 'x'.repeat(500) }),
      ),
    );

  it('leaves either the old catalog or the new one, never a mixture', async () => {
    const database = await aDatabase();
    const config = await configuration('killed', generation(0), database.connection);
    const first = await serving(config);
    await first.cli.logs('"Ready"');
    first.cli.child.kill('SIGTERM');
    await first.cli.finished;
    const outcomes = new Set<boolean>();
    for (const [index, moment] of KILLS.entries()) {
      const round = index + 1;
      await writeFile(join(folder, 'killed.json'), JSON.stringify(generation(round)));
      // Clears the dead replica's lease instead of waiting: the test is about its transaction.
      await database.query(`update source_sync set lease_owner = null, lease_until = null`);
      if (moment === 'writing') {
        await database.query('begin');
        await database.query('lock table entry_version in share mode');
      }
      const { cli } = await serving(config);
      await cli.logs('"changes"');
      if (moment === 'writing')
        await within(30_000, async () => expect(await waitingStatements(database)).toBeGreaterThan(0));
      else if (moment === 'synced') await cli.logs('"Source synced"');
      else await pause(moment);
      cli.child.kill('SIGKILL');
      await cli.finished;
      if (moment === 'writing') await database.query('commit');
      const rows = await database.query<{ version: string; count: number; latest: number }>(
        `select version, count(*)::int, count(*) filter (where is_latest)::int as latest from entry_version group by 1`,
      );
      expect(rows).toHaveLength(1);
      expect(rows[0]).toMatchObject({ count: KILLED_ENTRIES, latest: KILLED_ENTRIES });
      outcomes.add(rows[0]?.version === `1.0.${round}`);
    }
    expect(outcomes).toEqual(new Set([true, false]));
    await database.drop();
  });
});

describe('several replicas that start at once on an empty database', () => {
  it('run each migration exactly once and serve the same', async () => {
    const database = await aDatabase({ migrated: false });
    const config = await configuration('replicas', aCatalogue([aServer('io.acme/a')]), database.connection);
    const starts = Array.from({ length: inSoak(3, 2) }, () => serving(config));
    const replicas = await Promise.all(starts);
    for (const { cli } of replicas) await cli.logs('"Ready"');
    const applied = replicas.flatMap(({ cli }) => migrationsIn(cli.output));
    expect(applied.toSorted()).toEqual(migrations.map(({ name }) => name).toSorted());
    for (const { list } of replicas) expect(versionsIn(await list())).toEqual(['io.acme/a@1.0.0']);
    for (const { cli } of replicas) cli.child.kill('SIGTERM');
    for (const { cli } of replicas) expect((await cli.finished).code).toBe(0);
    await database.drop();
  });
});

/** The migrations a replica has applied, from its log; several replicas may each apply some. */
function migrationsIn(output: string): string[] {
  return output.split('\n').flatMap((line) => {
    if (!line.includes('"Migrations applied"')) return [];
    return (JSON.parse(line) as { migrations: string[] }).migrations;
  });
}
