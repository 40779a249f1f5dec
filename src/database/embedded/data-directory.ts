import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  constants,
  existsSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import {
  bareEnvironment,
  findAccount,
  type PostgresAccount,
  type PostgresBinaries,
  restrictTo,
  SUPERUSER,
} from './postgres-process.js';

const MAJOR = '18';

/**
 * Checks the data directory, or creates it on first use. The caller must hold the directory's lock.
 *
 * @returns the account to run PostgreSQL as.
 * @throws Error for the operator if the major version differs, the directory holds other files, or no account is
 *   suitable.
 */
export async function prepareDataDirectory(
  directory: string,
  binaries: PostgresBinaries,
  log: (message: string) => void,
): Promise<PostgresAccount> {
  const version = join(directory, 'PG_VERSION');
  if (existsSync(version)) {
    const major = readFileSync(version, 'utf8').trim();
    if (major !== MAJOR)
      throw new Error(
        `${directory} was created by PostgreSQL ${major}, but this version includes ${MAJOR}: dump and restore the data`,
      );
  } else if (existsSync(directory) && readdirSync(directory).length > 0)
    throw new Error(
      `${directory} is not empty and holds no PostgreSQL data: choose another REGISTRY_DATA_DIR`,
    );
  else {
    log('Creating the embedded PostgreSQL');
    return initialise(directory, binaries);
  }
  return findAccount(statSync(directory), binaries, directory);
}

// initdb writes to a temporary sibling directory, which is renamed when complete and left behind if the start is
// killed. Its name is random, because the initdb of a killed start may still be running.
async function initialise(directory: string, binaries: PostgresBinaries): Promise<PostgresAccount> {
  const parent = dirname(directory);
  const stray = `.${basename(directory)}.initdb-`;
  for (const name of readdirSync(parent))
    if (name.startsWith(stray)) await rm(join(parent, name), { recursive: true, maxRetries: 10 });
  const account = await findAccount(undefined, binaries, parent);
  const fresh = mkdtempSync(join(parent, stray));
  restrictTo(fresh, account);
  const run = promisify(execFile);
  const data = join(fresh, 'data');
  const locale = ['-E', 'UTF8', '--locale-provider=builtin', '--locale=C.UTF-8'];
  const [program = '', ...args] = [
    ...account.wrapper,
    ...[binaries.initdb, '-D', data, '-U', SUPERUSER, ...locale, '-A', 'trust'],
  ];
  try {
    await run(program, args, { ...account.identity, env: bareEnvironment(), cwd: '/' });
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true });
    const reason = (error as { stderr?: string }).stderr?.trim() || (error as Error).message;
    throw new Error(
      `The embedded PostgreSQL could not be created in ${directory}: ${reason}. ` +
        'Choose a REGISTRY_DATA_DIR that other users can access, or set database.url',
      { cause: error },
    );
  }
  rmSync(directory, { recursive: true, force: true });
  renameSync(data, directory);
  rmSync(fresh, { recursive: true, force: true });
  return account;
}

/** A stopping or killed owner may take a moment to release the lock. */
const PATIENCE_MS = 2_000;
const RETRY_MS = 100;
/** open(2) flag on BSD and macOS that locks the file; Node has no constant for it. */
const O_EXLOCK = 0x20;

export interface DataDirectoryLock {
  release(): void;
}

/**
 * Makes this process the sole owner of a data directory by locking a file next to it. The operating system releases the
 * lock when the process ends, even after `kill -9`. The file is never removed: otherwise two processes could each lock
 * a different file with that name.
 *
 * @throws Error for the operator when another process is the owner.
 */
export async function lockDataDirectory(directory: string): Promise<DataDirectoryLock> {
  const path = `${directory}.lock`;
  const tryLock = process.platform === 'linux' ? tryFlock : tryOpenExclusive;
  const deadline = Date.now() + PATIENCE_MS;
  let file = await tryLock(path);
  for (; file === undefined; file = await tryLock(path)) {
    if (Date.now() > deadline)
      throw new Error(
        `${directory} is in use by another running registry (process ${readFileSync(path, 'utf8').trim()})`,
      );
    await sleep(RETRY_MS);
  }
  ftruncateSync(file);
  writeSync(file, `${process.pid}\n`);
  let held: number | undefined = file;
  const release = () => {
    if (held !== undefined) closeSync(held);
    held = undefined;
  };
  return { release };
}

// The lock belongs to the open file description, which this process shares with the flock program.
async function tryFlock(path: string): Promise<number | undefined> {
  const file = openSync(path, 'a', 0o600);
  try {
    const stdio = ['ignore', 'ignore', 'ignore', file] as const;
    const [code] = (await once(
      spawn('flock', ['-n', '3'], { env: bareEnvironment(), stdio: [...stdio] }),
      'exit',
    )) as [number | null];
    if (code === 0) return file;
    if (code !== 1) throw new Error(`flock exited with ${code}`);
  } catch (error) {
    closeSync(file);
    throw new Error(
      `${path} can't be locked (${(error as Error).message}): install the program flock (package util-linux), ` +
        'choose a REGISTRY_DATA_DIR on a file system with locks, or set database.url',
      { cause: error },
    );
  }
  closeSync(file);
  return undefined;
}

async function tryOpenExclusive(path: string): Promise<number | undefined> {
  const { O_WRONLY, O_CREAT, O_APPEND, O_NONBLOCK } = constants;
  try {
    return openSync(path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_EXLOCK, 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return undefined;
    throw error;
  }
}

/** The line of `postmaster.pid` that holds each value; PostgreSQL keeps this order (src/include/utils/pidfile.h). */
const PID_FILE = { pid: 0, dataDirectory: 1, port: 3, socketDirectory: 4, status: 7 } as const;

/** Returns where the PostgreSQL server that runs on this data directory accepts connections; undefined if none does. */
export async function runningServer(
  directory: string,
): Promise<{ readonly host: string; readonly port: number } | undefined> {
  const lines = ignoreMissing(() => readFileSync(join(directory, 'postmaster.pid'), 'utf8').split('\n'));
  const value = (name: keyof typeof PID_FILE) => lines?.[PID_FILE[name]]?.trim() ?? '';
  const host = value('socketDirectory');
  if (value('status') !== 'ready' || host === '') return undefined;
  const isRunning = (await commandLine(Number(value('pid')))).includes(
    `postgres -D ${value('dataDirectory')} `,
  );
  return isRunning ? { host, port: Number(value('port')) } : undefined;
}

const STOP_TIMEOUT_MS = 12_000;

/**
 * Stops a PostgreSQL server that survived a `kill -9` of this server. This happens if the guard was also killed. The
 * caller must hold the directory's lock.
 *
 * @returns the process id that a dead PostgreSQL server left in the directory, if any. By now it may belong to a
 *   zombie or to an unrelated process.
 * @throws Error for the operator when the process does not end.
 */
export async function stopLeftOver(
  directory: string,
  log: (message: string) => void,
): Promise<number | undefined> {
  const pidFile = join(directory, 'postmaster.pid');
  const deadline = Date.now() + STOP_TIMEOUT_MS;
  for (let isSignalled = false; ; isSignalled = true) {
    const lines = ignoreMissing(() => readFileSync(pidFile, 'utf8').split('\n'));
    if (lines === undefined) return undefined;
    const [pid, dataDirectory] = [Number(lines[0]), lines[1] ?? ''];
    if (!(await commandLine(pid)).includes(`postgres -D ${dataDirectory} `)) return pid;
    if (!isSignalled) {
      log(`Stopping the embedded PostgreSQL of a server that was killed (process ${pid})`);
      ignoreMissing(() => process.kill(pid, 'SIGINT'));
    }
    if (Date.now() > deadline)
      throw new Error(`PostgreSQL process ${pid} uses ${directory} and does not stop`);
    await sleep(50);
  }
}

// The guard may stop the process at the same time.
function ignoreMissing<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}

/** Returns a process's arguments, each followed by a space; empty for zombies and missing processes. */
async function commandLine(pid: number): Promise<string> {
  try {
    if (process.platform === 'linux')
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
    const args = ['-ww', '-o', 'command=', '-p', String(pid)];
    const { stdout } = await promisify(execFile)('ps', args, { env: bareEnvironment() });
    return `${stdout.trim()} `;
  } catch {
    return '';
  }
}
