import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migrations } from '#migrations';
import { Cli } from '../support/cli.js';
import { aDatabase } from '../support/database.js';
import { aCatalogue, aServer } from '../support/documents.js';
import { call } from '../support/http.js';
import { versionsIn } from '../support/matchers.js';
import { inSoak } from '../support/soak.js';
import { waitingStatements } from '../support/waiting-statements.js';
import { within } from '../support/within.js';

const KILLED_ENTRIES = inSoak(3_000, 200);
/** Roughly the duration of a sync in the soak tests. */
const SYNC_MS = 1_400;
/**
 * When the server is killed: after the end of a sync, this many ms after its start, and while it writes. The first
 * must complete, so that the others have a catalog to keep.
 */
const KILLS = [
  'synced',
  ...inSoak(
    Array.from({ length: 16 }, (_, round) => 50 + (round * SYNC_MS) / 16),
    [],
  ),
  'writing',
] as const;

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
    ...(database ? { database } : {}),
  };
  await writeFile(yaml, JSON.stringify(declared));
  return yaml;
}

/** Starts a process that serves the configuration. */
function serving(config: string, environment: Record<string, string> = {}) {
  const cli = Cli.serve(config, environment);
  const list = async () => call(`${await cli.origin()}/registry/main/v0.1/servers?limit=100`);
  return { cli, list };
}

describe('the embedded PostgreSQL', () => {
  it('keeps its data when the server is killed, and stops with the server', async () => {
    const config = await configuration('embedded', aCatalogue([aServer('io.acme/a')]), null);
    const environment = { REGISTRY_DATA_DIR: join(folder, 'data'), PGHOST: '/nonexistent', PGPORT: '1' };
    const first = serving(config, environment);
    await first.cli.logs('"Ready"');
    const before = (await first.list()).text;
    first.cli.child.kill('SIGKILL');
    await first.cli.finished;
    const second = serving(config, environment);
    await second.cli.logs('"Ready"');
    expect((await second.list()).text).toBe(before);
    second.cli.child.kill('SIGINT');
    expect((await second.cli.finished).code).toBe(0);
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
      const { cli } = serving(config);
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

describe('several replicas that start simultaneously on an empty database', () => {
  it('run each migration exactly once and serve the same', async () => {
    const database = await aDatabase({ migrated: false });
    const config = await configuration('replicas', aCatalogue([aServer('io.acme/a')]), database.connection);
    const replicas = Array.from({ length: inSoak(3, 2) }, () => serving(config));
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
