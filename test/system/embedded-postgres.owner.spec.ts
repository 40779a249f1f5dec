import { mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { dump } from '../../dist/cli/dump.js';
import { migrate, type MigrateAction } from '../../dist/cli/migrate.js';
import { policy } from '../../dist/cli/policy.js';
import { startEmbeddedPostgres } from '../../dist/database/embedded/embedded-postgres.js';
import { printed } from '../support/cli.js';
import { aDatabase } from '../support/database.js';
import { childrenOf, EmbeddedFolder, killNine } from '../support/embedded.js';
import { within } from '../support/within.js';

/** Shared data directory: initdb takes longer than any test. */
const DATA = 'data';
const A_WHILE = 30_000;

let folder: EmbeddedFolder;
beforeAll(async () => {
  folder = await EmbeddedFolder.create();
});
afterAll(() => folder.remove());

it('an error about a data directory that cannot be created includes its path and setting', async () => {
  // A file in its path prevents it even for root, whom a directory without write permission does not stop.
  const file = join(folder.path, 'file');
  await writeFile(file, '');
  const start = startEmbeddedPostgres(join(file, 'data', 'postgres'));
  await expect(start).rejects.toThrow(
    new RegExp(`can't write to ${file}.*${join(file, 'data')} \\(REGISTRY_DATA_DIR\\)`),
  );
});

it.each(['/proc', '/proc/registry'])('reports a data directory that refuses new files: %s', async (path) => {
  const start = startEmbeddedPostgres(join(path, 'postgres'));
  await expect(start).rejects.toThrow(`the data directory ${path} (REGISTRY_DATA_DIR)`);
});

describe('concurrent first starts', () => {
  it('on one data directory: one process serves; the other exits with 1 and reports the directory', async () => {
    const all = [1, 2].map(() => folder.serve('race'));
    const outcomes = await Promise.allSettled(all.map((cli) => cli.logs('"Ready"')));
    const winners = all.filter((_, i) => outcomes[i]?.status === 'fulfilled');
    const losers = all.filter((cli) => !winners.includes(cli));
    expect(winners).toHaveLength(1);
    for (const loser of losers)
      expect(await loser.finished).toMatchObject({
        code: 1,
        output: expect.stringContaining(
          `in use by another running registry (process ${winners[0]?.child.pid})`,
        ),
      });
    winners[0]?.child.kill('SIGTERM');
    expect((await winners[0]?.finished)?.code).toBe(0);
    expect((await readdir(join(folder.path, 'race'))).sort()).toEqual(['postgres', 'postgres.lock']);
  });

  it('on neighboring data directories clean up after a start that was killed during initdb, and do not affect each other', async () => {
    const parent = join(folder.path, 'neighbours');
    await mkdir(parent);
    const killed = folder.own('neighbours');
    const unfinished = async () => (await readdir(parent)).filter((name) => name.includes('initdb'));
    await within(A_WHILE, async () => expect(await unfinished()).toHaveLength(1));
    await killNine(killed, []);
    expect(await unfinished()).toHaveLength(1);
    const servers = await Promise.all(
      ['postgres', 'other'].map((name) => startEmbeddedPostgres(join(parent, name))),
    );
    expect(servers[0]?.pid).not.toBe(servers[1]?.pid);
    await Promise.all(servers.map((server) => server.stop()));
    expect((await readdir(parent)).sort()).toEqual(['other', 'other.lock', 'postgres', 'postgres.lock']);
  });
});

describe('a second start on a data directory that is in use', () => {
  it('reads through the running server: migrate status, policy, dump', async () => {
    const server = folder.serve(DATA);
    vi.stubEnv('REGISTRY_DATA_DIR', join(folder.path, DATA));
    try {
      await server.logs('"Ready"');
      const config = join(folder.path, 'registry.yaml');
      const migrating = (action: MigrateAction) =>
        printed(() => migrate(action, config, { steps: 1, yes: true, destructive: false }));
      const status = await migrating('status');
      expect(status).toMatchObject({ code: 0, output: expect.stringMatching(/^applied {2}/) as string });
      expect(status.output).not.toMatch(/pending|unknown/);
      const teams = join(folder.path, 'teams.json');
      const team = { name: 'all', registry: 'main', claims: {}, clients: ['codex'], forms: ['servers'] };
      await writeFile(teams, JSON.stringify({ teams: [team] }));
      expect(await printed(() => policy({ config, teams, out: join(folder.path, 'policy') }))).toEqual({
        code: 0,
        output: 'write all/codex.servers.toml\n',
      });
      const target = await aDatabase({ migrated: false });
      const { user, host, port, database } = target;
      const url = `postgres://${user}@${encodeURIComponent(host)}:${port}/${database}`;
      expect(await printed(() => dump(config, url))).toMatchObject({
        code: 0,
        output: expect.stringContaining('\nentry_version: 1 row(s)\n') as string,
      });
      await target.drop();
      // Changes still need the data directory for themselves.
      for (const action of ['up', 'down'] as const)
        expect(await migrating(action)).toMatchObject({
          code: 1,
          output: expect.stringContaining('in use by another running registry') as string,
        });
      server.child.kill('SIGTERM');
      expect((await server.finished).code).toBe(0);
      expect((await migrating('status')).code).toBe(0);
    } finally {
      vi.unstubAllEnvs();
      server.child.kill('SIGKILL');
    }
  });

  it('is refused, even through a symbolic link, and leaves PostgreSQL running', async () => {
    const owner = await startEmbeddedPostgres(folder.postgres(DATA));
    await symlink(join(folder.path, DATA), join(folder.path, 'alias'));
    await mkdir(join(folder.path, 'elsewhere'));
    await symlink(folder.postgres(DATA), folder.postgres('elsewhere'));
    for (const name of [DATA, 'alias', 'elsewhere'])
      await expect(startEmbeddedPostgres(join(folder.path, name, 'postgres'))).rejects.toThrow(
        /in use by another running registry/,
      );
    const { pid, client } = folder.postmaster(DATA);
    expect(pid).toBe(owner.pid);
    const connected = await client();
    expect((await connected.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    await connected.end();
    await owner.stop();
  });

  it('succeeds once the owner has stopped or failed to start', async () => {
    const path = folder.postgres(DATA);
    await expect(startEmbeddedPostgres(path, { settings: { shared_buffers: 'many' } })).rejects.toThrow(
      /did not start: invalid value for parameter "shared_buffers": "many"/,
    );
    const options = join(path, 'postmaster.opts');
    await rm(options, { force: true });
    // Every write to this device fails as on a full disk.
    await symlink('/dev/full', options);
    await expect(startEmbeddedPostgres(path)).rejects.toThrow(
      /did not start: could not .* No space left on device/,
    );
    await rm(options);
    await (await startEmbeddedPostgres(path)).stop();
  });

  it('succeeds after kill -9 of the owner and its guard while PostgreSQL still runs with a client', async () => {
    const owner = await folder.owning(DATA);
    const { pid, client } = folder.postmaster(DATA);
    const children = await childrenOf(owner.pid ?? 0);
    expect(children).toContain(pid);
    const connected = await client();
    const gone = new Promise((done) => connected.once('end', done));
    await killNine(
      owner,
      children.filter((child) => child !== pid),
    );
    expect((await connected.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    const successor = await startEmbeddedPostgres(folder.postgres(DATA));
    await gone;
    expect(successor.pid).not.toBe(pid);
    await successor.stop();
  });
});
