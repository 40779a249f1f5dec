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
  giveTo,
  type PostgresAccount,
  type PostgresBinaries,
  SUPERUSER,
} from './postgres-process.js';

const MAJOR = '18';

/**
 * Makes sure that the directory holds data the server can use, creating it on first use, and says who is to run it.
 * The caller owns the directory: nobody else prepares it at the same time.
 *
 * @throws Error with a sentence for the administrator: made by another major version, not a data directory, no account.
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
  return findAccount(statSync(directory), binaries, directory);
}

// A data directory appears by its final name only when it is whole: an initdb that was killed leaves a stray sibling.
// It may even still be running, so the name is never used twice; and neighbours have strays of their own.
async function initialise(directory: string, binaries: PostgresBinaries): Promise<PostgresAccount> {
  const parent = dirname(directory);
  const stray = `.${basename(directory)}.initdb-`;
  for (const name of readdirSync(parent))
    if (name.startsWith(stray)) await rm(join(parent, name), { recursive: true, maxRetries: 10 });
  const account = await findAccount(undefined, binaries, parent);
  const fresh = mkdtempSync(join(parent, stray));
  giveTo(fresh, account);
  const run = promisify(execFile);
  const data = join(fresh, 'data');
  const locale = ['-E', 'UTF8', '--locale-provider=builtin', '--locale=C.UTF-8'];
  const [program = '', ...args] = [
    ...account.through,
    ...[binaries.initdb, '-D', data, '-U', SUPERUSER, ...locale, '-A', 'trust'],
  ];
  try {
    await run(program, args, { ...account.identity, env: bareEnvironment(), cwd: '/' });
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
  return account;
}

/** An owner that was just told to stop, or killed, may need a moment to let go. */
const PATIENCE_MS = 2_000;
const RETRY_MS = 100;
/** Of BSD and macOS, to take the lock while opening; Node has no name for it. */
const O_EXLOCK = 0x20;

export interface DataDirectoryLock {
  release(): void;
}

/**
 * Makes this process the only owner of a data directory. The operating system holds the lock on a file beside the
 * directory and drops it with the process, also after a `kill -9`: so whoever has it knows that the last owner is gone.
 * The file stays: were it removed, two could each lock a file of that name.
 *
 * @throws Error with a sentence for the administrator, when another process is the owner.
 */
export async function lockDataDirectory(directory: string): Promise<DataDirectoryLock> {
  const path = `${directory}.lock`;
  const take = process.platform === 'linux' ? takeByProgram : takeByOpening;
  const deadline = Date.now() + PATIENCE_MS;
  let file = await take(path);
  for (; file === undefined; file = await take(path)) {
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

// The lock belongs to the open file, which we share with the program for as long as that runs.
async function takeByProgram(path: string): Promise<number | undefined> {
  const file = openSync(path, 'a', 0o600);
  try {
    const stdio = ['ignore', 'ignore', 'ignore', file] as const;
    const [code] = (await once(
      spawn('flock', ['-n', '3'], { env: bareEnvironment(), stdio: [...stdio] }),
      'exit',
    )) as [number | null];
    if (code === 0) return file;
    if (code !== 1) throw new Error(`flock ended with ${code}`);
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

async function takeByOpening(path: string): Promise<number | undefined> {
  const { O_WRONLY, O_CREAT, O_APPEND, O_NONBLOCK } = constants;
  try {
    return openSync(path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_EXLOCK, 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return undefined;
    throw error;
  }
}

const STOP_TIMEOUT_MS = 12_000;

/**
 * Ends the PostgreSQL that a `kill -9` of the server left running: it lives on for a moment, or longer if the guard was
 * killed too. Only the owner of the directory may ask for it. Clients it may have do not keep it: they are not ours.
 *
 * @returns the process id that a PostgreSQL which is dead left in the directory, if any: a zombie's, or by now somebody
 * else's.
 * @throws Error with a sentence for the administrator, when it does not end.
 */
export async function stopLeftOver(
  directory: string,
  log: (message: string) => void,
): Promise<number | undefined> {
  const pidFile = join(directory, 'postmaster.pid');
  const deadline = Date.now() + STOP_TIMEOUT_MS;
  for (let asked = false; ; asked = true) {
    const lines = unlessGone(() => readFileSync(pidFile, 'utf8').split('\n'));
    if (lines === undefined) return undefined;
    const [pid, itsDirectory] = [Number(lines[0]), lines[1] ?? ''];
    if (!(await commandLine(pid)).includes(`postgres -D ${itsDirectory} `)) return pid;
    if (!asked) {
      log(`Stopping a PostgreSQL left over from a server that was killed (process ${pid})`);
      unlessGone(() => process.kill(pid, 'SIGINT'));
    }
    if (Date.now() > deadline)
      throw new Error(`PostgreSQL process ${pid} holds ${directory} and does not end`);
    await sleep(50);
  }
}

// The guard may be ending it at the same moment.
function unlessGone<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}

/** With a space after each argument; empty for a zombie, and for a process that is not there. */
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
