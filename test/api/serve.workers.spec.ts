import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cli } from '../support/cli.js';
import { aDatabase, type TestDatabase } from '../support/database.js';
import { aCatalogue, aServer } from '../support/documents.js';
import { freePort } from '../support/free-port.js';
import { call } from '../support/http.js';
import { within } from '../support/within.js';

const LIST = '/registry/main/v0.1/servers';

let database: TestDatabase;
let folder = '';
let config = '';
let served: Cli;
let origin = '';
let internal = '';

const configuration = (registries: string[], extra = {}) => ({
  auth: { mode: 'anonymous' },
  database: database.connection,
  sources: [{ name: 'catalog', file: { path: 'catalog.json' }, syncPolicy: { interval: '1h' } }],
  registries: registries.map((name) => ({ name, sources: ['catalog'] })),
  ...extra,
});
const write = (registries: string[], extra = {}) =>
  writeFile(config, JSON.stringify(configuration(registries, extra)));

function serve(workers: string, ...flags: string[]): Cli {
  const addresses = ['--address', '127.0.0.1:0', '--internal-address', '127.0.0.1:0'];
  return new Cli(['serve', '--config', config, '--workers', workers, ...addresses, ...flags], {
    // Long enough for the checks of this notice on a busy machine.
    REGISTRY_SHUTDOWN_NOTICE: '4s',
  });
}

async function metrics(): Promise<Map<string, number>> {
  const { text } = await call(`${internal}/metrics`);
  return new Map(
    [...text.matchAll(/^(\w+(?:\{.*\})?) (\S+)$/gm)].map(([, name = '', value]) => [name, Number(value)]),
  );
}

/** The sum over all series of a metric. */
async function total(name: string): Promise<number> {
  const series = [...(await metrics())].filter(([key]) => key === name || key.startsWith(`${name}{`));
  expect(series.length, name).toBeGreaterThan(0);
  return series.reduce((sum, [, value]) => sum + value, 0);
}

/** Process ids of the workers, as /proc lists the children of the primary. */
async function workerPids(): Promise<number[]> {
  const { readFile } = await import('node:fs/promises');
  const children = await readFile(`/proc/${served.child.pid}/task/${served.child.pid}/children`, 'utf8');
  return children.trim().split(' ').map(Number);
}

/** Asks for the list over new connections until stopped; returns what was not a 200. */
function keepAsking(): () => Promise<string[]> {
  const failed: string[] = [];
  let isAsking = true;
  const ask = async () => {
    while (isAsking)
      await call(origin + LIST).then(
        ({ status }) => status === 200 || failed.push(String(status)),
        (error: unknown) => failed.push(String(error)),
      );
  };
  const asking = Promise.all([ask(), ask()]);
  return async () => {
    isAsking = false;
    await asking;
    return failed;
  };
}

beforeAll(async () => {
  database = await aDatabase();
  folder = await mkdtemp(join(tmpdir(), 'registry-workers-'));
  config = join(folder, 'registry.yaml');
  await writeFile(join(folder, 'catalog.json'), JSON.stringify(aCatalogue([aServer('io.acme/a')])));
  await write(['main']);
  served = serve('2');
  origin = await served.origin();
  internal = /"metrics":"(.*?)\/metrics"/.exec(served.output)?.[1] ?? '';
});
afterAll(async () => {
  served.child.kill('SIGKILL');
  await served.finished;
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

describe('serve --workers 2', () => {
  it('serves the API on one port, and health, readiness and version on the internal one', async () => {
    expect(await workerPids()).toHaveLength(2);
    expect((await call(origin + LIST)).json).toMatchObject({ metadata: { count: 1 } });
    for (const path of ['/health', '/readiness', '/version'])
      await within(20_000, async () => expect((await call(internal + path)).status, path).toBe(200));
  });

  it('adds up the requests of all workers, and reports what the database holds once', async () => {
    const name = 'http_server_request_duration_seconds_count';
    await call(origin + LIST);
    const before = await total(name);
    for (let request = 0; request < 20; request += 1) await call(origin + LIST);
    await within(20_000, async () => expect(await total(name)).toBe(before + 20));
    const all = await metrics();
    expect(all.get('registry_workers')).toBe(2);
    expect(all.get('registry_sources{kind="file",status="complete"}')).toBe(1);
    expect(all.get('registry_source_entries{source="catalog",kind="file"}')).toBe(1);
    expect(all.get('db_client_connection_max{db_client_connection_pool_name="main"}')).toBe(20);
    // Both served some of the new connections.
    await within(20_000, () => {
      const served20 = new Set(served.output.match(/"worker":\d(?=.*"msg":"request")/g));
      expect(served20).toEqual(new Set(['"worker":1', '"worker":2']));
    });
  });

  it('syncs in one worker only', async () => {
    expect(served.output.match(/"msg":"Source synced"/g)).toHaveLength(1);
    const syncing = served.output.match(/"worker":\d(?=,"context":"sync")/g);
    expect(new Set(syncing)).toEqual(new Set(['"worker":1']));
  });

  it('applies a reload in every worker', async () => {
    await write(['main', 'other'], { readOnly: true });
    served.child.kill('SIGHUP');
    await served.logs('SIGHUP: the configuration was applied');
    const reloaded = served.output.split('\n').find((line) => line.includes('the configuration was applied'));
    expect(JSON.parse(reloaded ?? '')).toMatchObject({ waiting: ['readOnly'] });
    for (let request = 0; request < 6; request += 1)
      expect((await call(`${origin}/registry/other/v0.1/servers`)).status).toBe(200);
  });

  it('replaces a killed worker with the reloaded configuration, while the others serve and no count is lost', async () => {
    const counted = await total('http_server_request_duration_seconds_count');
    const pids = await workerPids();
    const stopAsking = keepAsking();
    for (const pid of pids) {
      process.kill(pid, 'SIGKILL');
      await within(30_000, async () => {
        expect(await workerPids()).not.toContain(pid);
        expect(await total('registry_workers')).toBe(2);
      });
    }
    const failed = await stopAsking();
    // Those in flight in a killed worker break.
    expect(failed.filter((failure) => !/ECONNRESET|socket hang up/.test(failure))).toEqual([]);
    expect(failed.length).toBeLessThanOrEqual(4);
    expect(await total('registry_worker_crashes_total')).toBe(2);
    expect(served.output).toMatch(/"level":"error".*"worker":1,"reason":"SIGKILL"/);
    expect(await total('http_server_request_duration_seconds_count')).toBeGreaterThan(counted);
    for (let request = 0; request < 6; request += 1)
      expect((await call(`${origin}/registry/other/v0.1/servers`)).status).toBe(200);
  });

  it('tries again to replace a worker that cannot start', async () => {
    const newer = [9_999_999_999_999, 'Newer9999999999999'];
    await database.query(`insert into schema_migration (timestamp, name) values ($1, $2)`, newer);
    const [pid = 0] = await workerPids();
    process.kill(pid, 'SIGKILL');
    await served.logs(/"msg":"Worker \d could not be replaced"/);
    expect((await call(origin + LIST)).status).toBe(200);
    await database.query(`delete from schema_migration where name = $1`, newer.slice(1));
    await within(30_000, async () => expect(await total('registry_workers')).toBe(2));
  });

  it('a file that changes is noticed by the replaced worker that runs the background jobs', async () => {
    const servers = [aServer('io.acme/a'), aServer('io.acme/b')];
    await writeFile(join(folder, 'catalog.json'), JSON.stringify(aCatalogue(servers)));
    await within(20_000, async () =>
      expect((await call(origin + LIST)).json).toMatchObject({ metadata: { count: 2 } }),
    );
  });

  it('stops with all workers, answers during the notice, and exits with 0', async () => {
    const pids = await workerPids();
    const stopAsking = keepAsking();
    served.child.kill('SIGTERM');
    await within(20_000, async () => expect((await call(`${internal}/readiness`)).status).toBe(503));
    expect((await call(origin + LIST)).headers['connection']).toBe('close');
    expect(await stopAsking()).toEqual([]);
    const { code, output } = await served.finished;
    expect(code, output).toBe(0);
    for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });
});

describe('a worker that cannot start', () => {
  it('ends the start with its error', async () => {
    await write(['main']);
    const port = await freePort();
    const other = serve('1', '--address', `127.0.0.1:${port}`);
    try {
      await other.origin();
      const { code, output } = await serve('2', '--address', `127.0.0.1:${port}`).finished;
      expect({ code, output }).toMatchObject({
        code: 1,
        output: expect.stringContaining(`Port ${port} is already in use`),
      });
    } finally {
      other.child.kill('SIGKILL');
      await other.finished;
    }
  });

  it.each(['0', 'many', '65', '1.5'])('--workers %s is refused', async (workers) => {
    const { code, output } = await serve(workers).finished;
    expect({ code, output }).toMatchObject({
      code: 1,
      output: expect.stringContaining('auto or a number from 1 to 64'),
    });
  });
});
