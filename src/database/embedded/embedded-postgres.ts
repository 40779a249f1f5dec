import { existsSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { lockDataDirectory, prepareDataDirectory, runningServer, stopLeftOver } from './data-directory.js';
import {
  DATABASE,
  findPostgresBinaries,
  makeFolder,
  type PostgresProcess,
  type ProcessOptions,
  runPostgres,
  SUPERUSER,
} from './postgres-process.js';

const RECOVERY_PATIENCE_MS = 10_000;
const RECOVERY_RETRY_MS = 250;

export type EmbeddedPostgres = PostgresProcess;

interface Options extends ProcessOptions {
  readonly log?: (message: string) => void;
}

/**
 * Starts the embedded PostgreSQL, creating its data directory on first use. PostgreSQL stops when this process ends for
 * any reason; the next start recovers from a `kill -9`.
 *
 * @throws Error for the operator if the directory is in use, unsuitable or not writable, or no account can run PostgreSQL.
 */
export async function startEmbeddedPostgres(
  dataDirectory: string,
  options: Options = {},
): Promise<EmbeddedPostgres> {
  try {
    return await start(dataDirectory, options);
  } catch (error) {
    throw unwritable(error, dataDirectory) ?? error;
  }
}

/** Returns the connection to the embedded PostgreSQL of another, running process; undefined if none runs. */
export async function findRunningPostgres(
  dataDirectory: string,
): Promise<PostgresProcess['connection'] | undefined> {
  const where = existsSync(dataDirectory) ? await runningServer(realpathSync(dataDirectory)) : undefined;
  return where && { ...where, user: SUPERUSER, database: DATABASE };
}

/** Returns an error for the operator if a file could not be written, for example to a full or read-only disk. */
function unwritable(error: unknown, dataDirectory: string): Error | undefined {
  const { code, syscall, path = dataDirectory } = error as NodeJS.ErrnoException;
  if (code === undefined || syscall === undefined) return undefined;
  const remedy = ['ENOSPC', 'EDQUOT'].includes(code) ? 'free space in' : 'make writable';
  return new Error(
    `The embedded PostgreSQL can't write to ${path} (${code}): ${remedy} the data directory ` +
      `${dirname(resolve(dataDirectory))} (REGISTRY_DATA_DIR) and ${tmpdir()}, or set database.url`,
    { cause: error },
  );
}

async function start(dataDirectory: string, options: Options): Promise<EmbeddedPostgres> {
  const log = options.log ?? (() => undefined);
  const binaries = await findPostgresBinaries();
  makeFolder(dirname(resolve(dataDirectory)));
  const directory = realPath(dataDirectory);
  const lock = await lockDataDirectory(directory);
  try {
    const account = await prepareDataDirectory(directory, binaries, log);
    const server = await startWithRetries(
      () => stopLeftOver(directory, log),
      (stalePid) => runPostgres(directory, binaries, account, stalePid, options),
    );
    return { ...server, stop: () => server.stop().finally(lock.release) };
  } catch (error) {
    lock.release();
    throw error;
  }
}

// Child processes of a killed PostgreSQL server may run for a few seconds and block a new one. Without a stale process
// id, a failed start is not retried.
async function startWithRetries(
  stopLeftOver: () => Promise<number | undefined>,
  start: (stalePid: number | undefined) => Promise<PostgresProcess>,
): Promise<PostgresProcess> {
  const deadline = Date.now() + RECOVERY_PATIENCE_MS;
  for (;;) {
    const stalePid = await stopLeftOver();
    try {
      return await start(stalePid);
    } catch (error) {
      if (stalePid === undefined || Date.now() > deadline) throw error;
      await sleep(RECOVERY_RETRY_MS);
    }
  }
}

// All paths to a directory must map to the same lock.
function realPath(directory: string): string {
  if (existsSync(directory)) return realpathSync(directory);
  const path = resolve(directory);
  return join(realpathSync(dirname(path)), basename(path));
}
