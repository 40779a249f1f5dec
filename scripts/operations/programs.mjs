/* global fetch, AbortSignal */
// Shared by the scripts in this directory: starts PostgreSQL servers of any version, and replicas of this or
// another build.
import { execFile, spawn } from 'node:child_process';
import console from 'node:console';
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs, promisify } from 'node:util';
import pg from 'pg';

export const ROOT = resolve(import.meta.dirname, '../..');
export const MAIN = join(ROOT, 'dist/main.js');
/** Debian's PostgreSQL binaries. */
export const BINARIES = '/usr/lib/postgresql/15/bin';

// PostgreSQL and PgBouncer refuse to run as root.
const AS_POSTGRES =
  process.getuid?.() === 0 ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups'] : [];
const execute = promisify(execFile);

/** Parses the arguments with `parseArgs`; prints the usage line and exits if they are invalid. */
export function readArguments(usage, options) {
  try {
    return parseArgs(options);
  } catch (error) {
    console.error(`${error.message}\nUsage: ${usage}`);
    process.exit(2);
  }
}

/** Runs `work` in a new directory, then runs the `atEnd` callbacks and removes it. */
export async function inFolder(work) {
  const folder = await mkdtemp(join(tmpdir(), 'registry-operations-'));
  await chmod(folder, 0o755);
  const ends = [];
  const endAll = async () => {
    for (const end of ends.splice(0)) await end();
    await rm(folder, { recursive: true, force: true });
  };
  for (const signal of ['SIGINT', 'SIGTERM'])
    process.once(signal, () => void endAll().then(() => process.exit(1)));
  try {
    await work(folder, (end) => void ends.unshift(end));
  } finally {
    await endAll();
  }
}

/** Runs a program that refuses to run as root. */
export function runAsPostgres(...command) {
  const [program, ...args] = [...AS_POSTGRES, ...command];
  return execute(program, args, { cwd: '/' });
}

export function startAsPostgres(...command) {
  const [program, ...args] = [...AS_POSTGRES, ...command];
  return spawn(program, args, { cwd: '/', stdio: ['ignore', 'ignore', 'ignore'] });
}

export async function giveToPostgres(...paths) {
  if (AS_POSTGRES.length > 0) await execute('chown', ['-R', 'postgres', ...paths]);
}

export async function freePort() {
  const server = createServer();
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

/** Polls until the result is true; an error counts as false. Resolves with the elapsed milliseconds. */
export async function until(what, isTrue, limitMs = 60_000) {
  const began = Date.now();
  while (!(await isTrue().catch(() => false))) {
    if (Date.now() - began > limitMs) throw new Error(`Not in ${limitMs / 1_000} s: ${what}`);
    await pause(50);
  }
  return Date.now() - began;
}

/** A PostgreSQL server with its own data directory, TCP only. The superuser is `registry`, without a password. */
export class Postgres {
  constructor(binaries, folder, port) {
    Object.assign(this, { binaries, port, directory: join(folder, `postgres-${port}`) });
  }

  /** @param hba content of pg_hba.conf; absent: no password is required. */
  static async start(binaries, folder, settings = [], hba = undefined) {
    const made = new Postgres(binaries, folder, await freePort());
    await made.makeDirectory();
    const flags = ['-U', 'registry', '-A', 'trust', '--locale=C', '-E', 'UTF8'];
    await runAsPostgres(join(binaries, 'initdb'), '-D', made.directory, ...flags);
    if (hba) await writeFile(join(made.directory, 'pg_hba.conf'), hba);
    await made.serve(settings);
    return made;
  }

  /** Creates a standby. */
  async standby(folder, settings = []) {
    const made = new Postgres(this.binaries, folder, await freePort());
    await made.makeDirectory();
    const from = ['-h', '127.0.0.1', '-p', `${this.port}`, '-U', 'registry'];
    const copy = join(this.binaries, 'pg_basebackup');
    await runAsPostgres(copy, ...from, '-D', made.directory, '-R', '-X', 'stream');
    await made.serve(settings);
    return made;
  }

  async makeDirectory() {
    await execute('mkdir', ['-m', '700', this.directory]);
    await giveToPostgres(this.directory);
  }

  async serve(settings) {
    const all = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', ...settings];
    const flags = ['-D', this.directory, '-p', `${this.port}`, ...all.flatMap((one) => ['-c', one])];
    this.child = startAsPostgres(join(this.binaries, 'postgres'), ...flags);
    // A refused login also means that the server is up.
    const answers = () => this.query('select 1').catch(({ code }) => /^28/.test(code));
    await until('PostgreSQL answers', answers);
  }

  async query(sql, database = 'postgres') {
    const client = new pg.Client({ host: '127.0.0.1', port: this.port, user: 'registry', database });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query(sql)).rows;
    } finally {
      await client.end();
    }
  }

  /** Kills all its processes simultaneously, like a machine failure. */
  kill() {
    const { pid } = this.child;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
    for (const one of [pid, ...children.map(Number)]) process.kill(one, 'SIGKILL');
  }

  async stop() {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = new Promise((done) => this.child.once('exit', done));
    this.child.kill('SIGINT');
    await ended;
  }
}

/** A replica in a separate process, with fixed ports. */
export class Replica {
  constructor(config, port, internalPort, environment) {
    Object.assign(this, { config, port, internalPort, environment, output: '', main: MAIN });
  }

  static async at(config, environment = {}) {
    return new Replica(config, await freePort(), await freePort(), environment);
  }

  /** Resolves with the milliseconds it took to become ready. */
  async start(main = this.main) {
    const addresses = [
      '--address',
      `127.0.0.1:${this.port}`,
      '--internal-address',
      `127.0.0.1:${this.internalPort}`,
    ];
    this.main = main;
    this.output = '';
    this.child = spawn(process.execPath, [main, 'serve', '--config', this.config, ...addresses], {
      env: { PATH: process.env['PATH'], ...this.environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.child.stdout, this.child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (this.output += text));
    const hasEnded = () => this.child.exitCode !== null;
    const tookMs = await until(
      'the replica is ready',
      async () => hasEnded() || (await this.isReady()),
      120_000,
    );
    if (hasEnded()) throw new Error(`The replica has exited:\n${this.output}`);
    return tookMs;
  }

  /** Resolves with the elapsed milliseconds. */
  async stop() {
    const began = Date.now();
    if (this.child.exitCode !== null || this.child.signalCode !== null) return 0;
    const ended = new Promise((done) => this.child.once('exit', done));
    this.child.kill('SIGTERM');
    const code = await ended;
    if (code !== 0) console.log(`exit code ${code}: ${this.output.slice(-1_000)}`);
    return Date.now() - began;
  }

  async isReady() {
    const url = `http://127.0.0.1:${this.internalPort}/readiness`;
    const answer = await fetch(url, { signal: AbortSignal.timeout(1_000), headers: { connection: 'close' } });
    await answer.text();
    return answer.ok;
  }
}

/** Starts two replicas, which stop at the end. */
export async function twoReplicas(config, atEnd, main = MAIN) {
  const replicas = [await Replica.at(config), await Replica.at(config)];
  for (const replica of replicas) {
    await replica.start(main);
    atEnd(() => replica.stop());
  }
  return replicas;
}

/** Used by scripts that change more than a publisher may. */
export const MANY_CHANGES = { limits: { changesPerMinute: 1_000_000 } };

/**
 * Writes a configuration in anonymous mode, with a managed source and, if there are names, a file of servers with
 * these names.
 */
export async function writeConfiguration(folder, database, names = [], settings = {}) {
  const catalogue = join(folder, 'catalog.json');
  const servers = names.map(aServer);
  const data = { version: '1.0.0', meta: { last_updated: '2026-01-01T00:00:00Z' }, data: { servers } };
  await writeFile(catalogue, JSON.stringify(data));
  const file = { name: 'file', file: { path: catalogue }, syncPolicy: { interval: '1h' } };
  const sources = [...(names.length > 0 ? [file] : []), { name: 'published', managed: {} }];
  const config = join(folder, 'registry.yaml');
  const registries = [{ name: 'main', sources: sources.map(({ name }) => name) }];
  const all = { auth: { mode: 'anonymous' }, database, sources, registries, ...settings };
  await writeFile(config, JSON.stringify(all));
  return config;
}

export function aServer(name) {
  const $schema = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json';
  return { $schema, name, description: 'A server', version: '1.0.0' };
}
