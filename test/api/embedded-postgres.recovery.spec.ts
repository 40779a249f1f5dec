import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startEmbeddedPostgres } from '../../dist/database/embedded/embedded-postgres.js';
import { childrenOf, EmbeddedFolder, isAlive, killNine } from '../support/embedded.js';

let folder: EmbeddedFolder;
const bystanders: ChildProcess[] = [];
beforeAll(async () => {
  folder = await EmbeddedFolder.create();
});
afterAll(async () => {
  for (const bystander of bystanders) bystander.kill('SIGKILL');
  await folder.remove();
});

/** A process of the user PostgreSQL runs as, as whoever gets its process id would be. */
function bystander(data: string, script: string): ChildProcess {
  const { uid, gid } = statSync(join(folder.path, data, 'postgres'));
  const child = spawn('/bin/sh', ['-c', script], { stdio: ['ignore', 'pipe', 'ignore'], uid, gid });
  bystanders.push(child);
  return child;
}

/** Kills a service that used the data directory, its guard and its PostgreSQL. */
async function killAll(data: string): Promise<void> {
  const service = await folder.serving(data);
  await killNine(service, await childrenOf(service.child.pid ?? 0));
}

/** As if the system had given the process id of the dead PostgreSQL to this process. */
async function reuse(data: string, pid: number): Promise<void> {
  const file = folder.postmasterFile(data);
  const [, ...rest] = (await readFile(file, 'utf8')).split('\n');
  await writeFile(file, [pid, ...rest].join('\n'));
}

async function expectStart(data: string): Promise<void> {
  const service = await folder.serving(data);
  expect(isAlive(folder.postmaster(data).pid)).toBe(true);
  service.child.kill('SIGTERM');
  expect((await service.finished).code).toBe(0);
}

describe(
  'after service, guard and PostgreSQL were all killed with -9, a start succeeds',
  { timeout: 90_000 },
  () => {
    it('at once', async () => {
      await killAll('at-once');
      await expectStart('at-once');
    });

    it('while the dead PostgreSQL is a zombie', async () => {
      await killAll('zombie');
      // `exec` leaves the child to a program that never waits for it; one that ended before would have been waited for.
      const parent = bystander('zombie', 'sleep 0.3 & echo $!; exec sleep 300');
      const [line] = (await once(parent.stdout ?? parent, 'data')) as [Buffer];
      const zombie = Number(line.toString());
      await reuse('zombie', zombie);
      expect(await childrenOf(parent.pid ?? 0)).toEqual([zombie]);
      await expectStart('zombie');
      expect(isAlive(zombie)).toBe(true);
    });

    it('while one of its processes still works for a moment', async () => {
      const killed = await folder.serving('busy');
      const { client } = folder.postmaster('busy');
      const worker = await client();
      const { rows } = await worker.query<{ pid: number }>('select pg_backend_pid() as pid');
      const enough = join(folder.path, 'enough');
      const work = worker.query(`do $$ begin
      while pg_stat_file('${enough}', true) is null loop end loop;
    end $$`);
      const watcher = await client();
      const active = `select 1 from pg_stat_activity where pid = $1 and state = 'active'`;
      while ((await watcher.query(active, [rows[0]?.pid])).rowCount === 0);
      await killNine(killed, await childrenOf(killed.child.pid ?? 0));
      const service = folder.serve('busy');
      const log = () => readFile(join(folder.path, 'busy', 'postgres', 'server.log'), 'utf8');
      while (!(await log()).includes('pre-existing shared memory block'));
      await writeFile(enough, '');
      await work;
      await service.logs('"Ready"');
      service.child.kill('SIGTERM');
      expect((await service.finished).code).toBe(0);
    });

    it('though its process id now belongs to another program, which is left alone', async () => {
      await killAll('stranger');
      const stranger = bystander('stranger', 'exec sleep 300');
      await reuse('stranger', stranger.pid ?? 0);
      await expectStart('stranger');
      expect(stranger.exitCode ?? stranger.signalCode).toBeNull();
    });

    it('though its process id now belongs to the PostgreSQL of another data directory, which is left alone', async () => {
      const other = await startEmbeddedPostgres(join(folder.path, 'other', 'postgres'));
      await killAll('mistaken');
      await reuse('mistaken', other.pid);
      await expectStart('mistaken');
      expect(isAlive(other.pid)).toBe(true);
      expect(folder.postmaster('other').pid).toBe(other.pid);
      await other.stop();
    });
  },
);
