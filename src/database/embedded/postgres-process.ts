import { spawn, type SpawnOptions } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { bareEnvironment, giveTo, type PostgresAccount } from './postgres-account.js';
import type { PostgresBinaries } from './postgres-binaries.js';
import { startGuard } from './postgres-guard.js';

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
