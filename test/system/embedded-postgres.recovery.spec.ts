import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startEmbeddedPostgres } from '../../dist/database/embedded/embedded-postgres.js';
import { childrenOf, EmbeddedFolder, isAlive, killNine } from '../support/embedded.js';
import { within } from '../support/within.js';

/** Shared data directory: initdb takes longer than any test. */
const DATA = 'data';
const A_WHILE = 30_000;

let folder: EmbeddedFolder;
const bystanders: ChildProcess[] = [];
beforeAll(async () => {
  folder = await EmbeddedFolder.create();
});
afterAll(async () => {
  for (const bystander of bystanders) bystander.kill('SIGKILL');
  await folder.remove();
});

/** Starts an unrelated process as the user that PostgreSQL runs as. */
function bystander(script: string): ChildProcess {
  const { uid, gid } = statSync(folder.postgres(DATA));
  const child = spawn('/bin/sh', ['-c', script], { stdio: ['ignore', 'pipe', 'ignore'], uid, gid });
  bystanders.push(child);
  return child;
}

/** Kills the owner of the data directory, its guard and PostgreSQL. */
async function killAll(): Promise<void> {
  const owner = await folder.owning(DATA);
  await killNine(owner, await childrenOf(owner.pid ?? 0));
}

/** Writes another process id into postmaster.pid, as after reuse of the id. */
async function reuse(pid: number): Promise<void> {
  const file = folder.postmasterFile(DATA);
  const [, ...rest] = (await readFile(file, 'utf8')).split('\n');
  await writeFile(file, [pid, ...rest].join('\n'));
}

async function expectStart(): Promise<void> {
  const server = await startEmbeddedPostgres(folder.postgres(DATA));
  expect(isAlive(server.pid)).toBe(true);
  await server.stop();
}

describe('a start after kill -9 of owner, guard and PostgreSQL succeeds', () => {
  it('immediately', async () => {
    await killAll();
    await expectStart();
  });

  it('while the dead PostgreSQL is a zombie', async () => {
    await killAll();
    // `exec` replaces the shell with a program that never waits for its child.
    const parent = bystander('sleep 0.3 & echo $!; exec sleep 300');
    const [line] = (await once(parent.stdout ?? parent, 'data')) as [Buffer];
    const zombie = Number(line.toString());
    await reuse(zombie);
    expect(await childrenOf(parent.pid ?? 0)).toEqual([zombie]);
    await expectStart();
    expect(isAlive(zombie)).toBe(true);
  });

  it('while a backend still runs for a moment', async () => {
    const killed = await folder.owning(DATA);
    const { client } = folder.postmaster(DATA);
    const worker = await client();
    const { rows } = await worker.query<{ pid: number }>('select pg_backend_pid() as pid');
    const enough = join(folder.path, 'enough');
    const work = worker.query(`do $$ begin
      while pg_stat_file('${enough}', true) is null loop end loop;
    end $$`);
    const watcher = await client();
    const active = `select 1 from pg_stat_activity where pid = $1 and state = 'active'`;
    await within(A_WHILE, async () => expect((await watcher.query(active, [rows[0]?.pid])).rowCount).toBe(1));
    await killNine(killed, await childrenOf(killed.pid ?? 0));
    const starting = expectStart();
    const log = () => readFile(join(folder.postgres(DATA), 'server.log'), 'utf8');
    await within(A_WHILE, async () => expect(await log()).toContain('pre-existing shared memory block'));
    await writeFile(enough, '');
    await work;
    await starting;
  });

  it('when its process ID belongs to another program, which is not touched', async () => {
    await killAll();
    const stranger = bystander('exec sleep 300');
    await reuse(stranger.pid ?? 0);
    await expectStart();
    expect(stranger.exitCode ?? stranger.signalCode).toBeNull();
  });

  it('when its process ID belongs to the PostgreSQL of another data directory, which is not touched', async () => {
    const other = await startEmbeddedPostgres(folder.postgres('other'));
    await killAll();
    await reuse(other.pid);
    await expectStart();
    expect(isAlive(other.pid)).toBe(true);
    expect(folder.postmaster('other').pid).toBe(other.pid);
    await other.stop();
  });
});
