import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { Cli } from '../support/cli.js';
import { aDatabase, type TestDatabase } from '../support/database.js';
import { aFolder } from '../support/folder.js';
import { aGitServer } from '../support/git-server.js';
import { aFileOf } from '../support/git-service.js';

const DESCRIPTORS = 512;

const folder = aFolder();
const git = aGitServer().runs();
const repository = git.repository('acme');
const internal = new Agent({ keepAlive: true, maxSockets: 1 });
const idle: Socket[] = [];
let database: TestDatabase;
let file: string;
let served: Cli;
let origin: URL;
let internalPort: string;

beforeAll(async () => {
  database = await aDatabase();
  await repository.commit({ 'registry.json': aFileOf('one') });
  const configuration = {
    auth: { mode: 'anonymous' },
    sources: [{ name: 'main', git: { repository: git.url('acme') }, syncPolicy: { interval: '1h' } }],
    registries: [{ name: 'main', sources: ['main'] }],
    database: database.connection,
  };
  file = folder.write('registry.yaml', stringify(configuration));
  served = Cli.serve(file, {}, undefined, DESCRIPTORS);
  origin = new URL(await served.origin());
  [, internalPort = ''] = /"internalPort":(\d+)/.exec(served.output) ?? [];
});
afterAll(async () => {
  for (const socket of idle) socket.destroy();
  internal.destroy();
  served.child.kill('SIGTERM');
  await served.finished;
  await database.drop();
});

function readiness(): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const url = `http://127.0.0.1:${internalPort}/readiness`;
    get(url, { agent: internal }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode));
    }).once('error', reject);
  });
}

/** Runs the source now and returns its error; null if the sync was complete. */
async function synced(): Promise<string | null> {
  const [row] = await database.query<{ at: Date }>(
    `update source_sync set next_run_at = now() where lease_owner is null returning clock_timestamp() as at`,
  );
  for (;;) {
    const [run] = await database.query<{ error: string | null }>(
      `select error from source_sync where last_attempt_at >= $1 and lease_owner is null`,
      [row?.at],
    );
    if (run) return run.error;
    expect(served.child.exitCode, served.output).toBeNull();
    await sleep(25);
  }
}

/** Lets the process open this many more files than it has. */
function leave(free: number): void {
  const { pid } = served.child;
  const open = new Set(readdirSync(`/proc/${pid}/fd`).map(Number));
  const numbers = Array.from({ length: DESCRIPTORS }, (_, number) => number);
  const limit = numbers.filter((number) => !open.has(number))[free] ?? DESCRIPTORS;
  execFileSync('prlimit', ['--pid', String(pid), `--nofile=${limit}:${DESCRIPTORS}`]);
}

it('refuses to start with fewer descriptors than it needs, and says how many', async () => {
  const { code, output } = await Cli.serve(file, {}, undefined, DESCRIPTORS - 1).finished;
  expect(code).toBe(1);
  expect(output).toContain('the process may open 511 files, but needs 512 or more');
});

it('accepts no more connections than its descriptors allow, and warns at startup', async () => {
  expect(served.output).toContain(
    `The process may open ${DESCRIPTORS} files, so it accepts 204 connections instead of 2000 (limits.connections)`,
  );
  for (let n = 0; n < 600; n += 1) {
    const socket = connect(Number(origin.port), origin.hostname).on('error', () => undefined);
    idle.push(socket);
    await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve));
  }
  expect(await synced()).toBeNull();
  await expect.poll(readiness).toBe(200);
  expect(readdirSync(`/proc/${served.child.pid}/fd`).length).toBeLessThan(DESCRIPTORS);
});

it('fails a sync and keeps running when there are no descriptors to start git', async () => {
  for (const socket of idle.splice(0)) socket.destroy();
  const errors: (string | null)[] = [];
  for (const free of [1, 2, 3, 4, 6]) {
    leave(free);
    errors.push(await synced());
    await expect.poll(readiness).toBe(200);
  }
  expect(errors).toContain('git could not be started: EMFILE');
  leave(DESCRIPTORS);
  expect(await synced()).toBeNull();
});
