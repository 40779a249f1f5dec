import { type ChildProcess, execFile, spawn, type SpawnOptions } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  closeSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { findPostgresBinaries, type PostgresBinaries } from './postgres-binaries.js';

const MAJOR = '18';
const USER = 'registry';
const DATABASE = 'registry';
const START_PATIENCE_MS = 30_000;
const LEFT_OVER_PATIENCE_MS = 12_000;
const FAST_STOP_MS = 5_000;

const DEFAULT_SETTINGS = { max_connections: '60', shared_buffers: '64MB', max_wal_size: '512MB' };

export interface EmbeddedPostgres {
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

interface Options {
  /** Further settings of the server, by name. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly log?: (message: string) => void;
  /** Where its socket goes; a new directory below the system's temporary one unless told. */
  readonly socketDirectory?: string;
}

/** Who the server runs as, and a program to run it through, if any. PostgreSQL refuses to be root. */
interface RunAs {
  readonly identity: { readonly uid?: number; readonly gid?: number };
  readonly through: readonly string[];
}

/**
 * Starts a PostgreSQL of our own on this data directory, which it creates on first use. The server ends with this
 * process, however that ends; what a `kill -9` leaves behind is recovered at the next start.
 *
 * @throws Error with a sentence for the administrator: in use by another process, made by another major version, not a
 * data directory, no user to run as.
 */
export async function startEmbeddedPostgres(
  dataDirectory: string,
  options: Options = {},
): Promise<EmbeddedPostgres> {
  const directory = resolve(dataDirectory);
  const log = options.log ?? (() => undefined);
  const binaries = await findPostgresBinaries();
  mkdirSync(dirname(directory), { recursive: true });
  const runAs = await prepare(directory, binaries, log);
  await stopLeftOver(directory, log);
  return launch(directory, binaries, runAs, options);
}

async function prepare(
  directory: string,
  binaries: PostgresBinaries,
  log: (m: string) => void,
): Promise<RunAs> {
  const version = join(directory, 'PG_VERSION');
  if (existsSync(version)) {
    const major = readFileSync(version, 'utf8').trim();
    if (major !== MAJOR)
      throw new Error(
        `${directory} was made by PostgreSQL ${major}, this version has ${MAJOR}: dump and load the data`,
      );
  } else if (existsSync(directory) && readdirSync(directory).length > 0)
    throw new Error(
      `${directory} is not empty and holds no PostgreSQL data: nothing was touched, choose another REGISTRY_DATA_DIR`,
    );
  else {
    log('Creating the embedded PostgreSQL');
    return initialise(directory, binaries);
  }
  return firstThatRuns(identities(statSync(directory)), binaries, directory);
}

// A data directory appears by its final name only when it is whole: an initdb that was killed leaves a stray sibling.
async function initialise(directory: string, binaries: PostgresBinaries): Promise<RunAs> {
  const parent = dirname(directory);
  for (const name of readdirSync(parent))
    if (name.startsWith('.initdb-')) rmSync(join(parent, name), { recursive: true });
  const runAs = await firstThatRuns(identities(undefined), binaries, parent);
  const fresh = mkdtempSync(join(parent, '.initdb-'));
  giveTo(fresh, runAs);
  const run = promisify(execFile);
  const data = join(fresh, 'data');
  const [program = '', ...args] = [
    ...runAs.through,
    binaries.initdb,
    ...['-D', data, '-U', USER, '-E', 'UTF8', '--locale-provider=builtin', '--locale=C.UTF-8', '-A', 'trust'],
  ];
  try {
    await run(program, args, { ...runAs.identity, env: environment(), cwd: '/' });
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true });
    const reason = (error as { stderr?: string }).stderr?.trim() || (error as Error).message;
    throw new Error(
      `The embedded PostgreSQL could not be created in ${directory}: ${reason}. ` +
        'Choose a REGISTRY_DATA_DIR that other users can reach, or set database.url',
      { cause: error },
    );
  }
  rmSync(directory, { recursive: true, force: true });
  renameSync(data, directory);
  rmSync(fresh, { recursive: true, force: true });
  return runAs;
}

function* identities(owner: { uid: number; gid: number } | undefined): Generator<RunAs> {
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

async function firstThatRuns(
  candidates: Iterable<RunAs>,
  { postgres }: PostgresBinaries,
  directory: string,
): Promise<RunAs> {
  const run = promisify(execFile);
  const script = '"$1" --version && test -x "$2"';
  for (const runAs of candidates) {
    const [program = '', ...args] = [...runAs.through, '/bin/sh', '-c', script, 'try', postgres, directory];
    try {
      await run(program, args, { ...runAs.identity, env: environment(), cwd: '/' });
      return runAs;
    } catch {
      continue;
    }
  }
  throw new Error(
    'The embedded PostgreSQL refuses to run as root, and no other user can reach its files: start the server as ' +
      'another user, move the installation out of a directory only root can enter, or set database.url',
  );
}

function giveTo(path: string, { identity }: RunAs): void {
  chmodSync(path, 0o700);
  if (identity.uid !== undefined && identity.gid !== undefined) chownSync(path, identity.uid, identity.gid);
}

// After a kill -9 of the server its PostgreSQL lives on for a moment, or longer if the guard was killed too.
async function stopLeftOver(directory: string, log: (message: string) => void): Promise<void> {
  const pidFile = join(directory, 'postmaster.pid');
  const deadline = Date.now() + LEFT_OVER_PATIENCE_MS;
  for (let asked = false; existsSync(pidFile);) {
    const [pid = '', , , port = '', socket = ''] = readFileSync(pidFile, 'utf8').split('\n');
    if (!isPostgres(Number(pid), directory)) return;
    const clients = asked ? 0 : await countClients(socket, Number(port));
    if (clients !== undefined && clients > 0)
      throw new Error(`${directory} is in use by another running registry (PostgreSQL process ${pid})`);
    if (clients !== undefined && !asked) {
      log(`Stopping a PostgreSQL left over from a server that was killed (process ${pid})`);
      process.kill(Number(pid), 'SIGINT');
      asked = true;
    }
    if (Date.now() > deadline)
      throw new Error(`PostgreSQL process ${pid} holds ${directory} and does not end`);
    await sleep(50);
  }
}

async function countClients(socket: string, port: number): Promise<number | undefined> {
  const client = new pg.Client({
    host: socket,
    port,
    user: USER,
    database: 'postgres',
    connectionTimeoutMillis: 2_000,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ count: number }>(
      `select count(*)::int as count from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`,
    );
    return rows[0]?.count ?? 0;
  } catch {
    return undefined;
  } finally {
    await client.end().catch(() => undefined);
  }
}

// A process id can have gone to somebody else since, and a zombie holds nothing.
function isPostgres(pid: number, directory: string): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  if (process.platform !== 'linux') return true;
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(directory);
  } catch {
    return false;
  }
}

async function launch(
  directory: string,
  binaries: PostgresBinaries,
  runAs: RunAs,
  options: Options,
): Promise<EmbeddedPostgres> {
  const socket = options.socketDirectory ?? mkdtempSync(join(tmpdir(), 'registry-pg-'));
  mkdirSync(socket, { recursive: true });
  giveTo(socket, runAs);
  const settings = {
    ...DEFAULT_SETTINGS,
    ...options.settings,
    listen_addresses: '',
    unix_socket_directories: socket,
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const [program = '', ...args] = [
    ...runAs.through,
    binaries.postgres,
    '-D',
    directory,
    '-p',
    '5432',
    ...flags,
  ];
  const logFile = join(directory, 'server.log');
  const output = openSync(logFile, 'a', 0o600);
  // Detached: Ctrl-C is meant for us, and we still need the database while requests are finished.
  const how: SpawnOptions = { ...runAs.identity, env: environment(), cwd: '/', detached: true };
  const server = spawn(program, args, { ...how, stdio: ['ignore', output, output] });
  closeSync(output);
  const ended = new Promise<string>((done) => {
    server.once('error', (error) => done(error.message));
    server.once('exit', (code, signal) => done(signal ?? `exit code ${code}`));
  });
  let asked = false;
  let over: string | undefined;
  void ended.then((reason) => (over = reason));
  const guard = startGuard(server, socket);
  const connection = { host: socket, port: 5432, user: USER, database: DATABASE };
  const stop = async () => {
    asked = true;
    if (over === undefined) server.kill('SIGINT');
    const quit = setTimeout(() => server.kill('SIGQUIT'), FAST_STOP_MS);
    await ended;
    clearTimeout(quit);
    endGuard(guard);
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

// Outlives us: our end, of whatever kind, closes its standard input, and it stops the server.
function startGuard(server: ChildProcess, socket: string): ChildProcess {
  const script = 'cat >/dev/null; kill -INT "$1" 2>/dev/null; sleep 2; rm -rf "$2"';
  const guard = spawn('/bin/sh', ['-c', script, 'guard', String(server.pid), socket], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  guard.on('error', () => undefined);
  guard.unref();
  return guard;
}

// Its whole group: the shell and the `cat` that waits. Nothing of ours outlives a stop.
function endGuard(guard: ChildProcess): void {
  try {
    if (guard.pid !== undefined) process.kill(-guard.pid, 'SIGKILL');
  } catch {
    guard.stdin?.end();
  }
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
    const client = new pg.Client({ host: socket, port: 5432, user: USER, database: 'postgres' });
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

// Nothing of our environment reaches the server: PG* variables of an installed PostgreSQL would confuse it.
function environment(): NodeJS.ProcessEnv {
  return {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    LC_ALL: 'C.UTF-8',
    TZ: 'UTC',
  };
}

function sleep(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}
