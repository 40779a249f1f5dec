import { existsSync, mkdirSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { lockDataDirectory, prepareDataDirectory, stopLeftOver } from './data-directory.js';
import {
  findPostgresBinaries,
  type PostgresProcess,
  type ProcessOptions,
  runPostgres,
} from './postgres-process.js';

const RECOVERY_PATIENCE_MS = 10_000;
const RECOVERY_RETRY_MS = 250;

export type EmbeddedPostgres = PostgresProcess;

interface Options extends ProcessOptions {
  readonly log?: (message: string) => void;
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
  const log = options.log ?? (() => undefined);
  const binaries = await findPostgresBinaries();
  mkdirSync(dirname(resolve(dataDirectory)), { recursive: true });
  const directory = trueName(dataDirectory);
  const lock = await lockDataDirectory(directory);
  try {
    const account = await prepareDataDirectory(directory, binaries, log);
    const server = await startAfter(
      () => stopLeftOver(directory, log),
      (stalePid) => runPostgres(directory, binaries, account, stalePid, options),
    );
    return { ...server, stop: () => server.stop().finally(lock.release) };
  } catch (error) {
    lock.release();
    throw error;
  }
}

// Processes of a PostgreSQL that was killed may work on for some seconds, and until they end no other one is let in. A
// start that found nothing left over has nothing to wait for.
async function startAfter(
  leftOver: () => Promise<number | undefined>,
  start: (stalePid: number | undefined) => Promise<PostgresProcess>,
): Promise<PostgresProcess> {
  const deadline = Date.now() + RECOVERY_PATIENCE_MS;
  for (;;) {
    const stalePid = await leftOver();
    try {
      return await start(stalePid);
    } catch (error) {
      if (stalePid === undefined || Date.now() > deadline) throw error;
      await sleep(RECOVERY_RETRY_MS);
    }
  }
}

// Two names of one directory must lead to one lock.
function trueName(directory: string): string {
  if (existsSync(directory)) return realpathSync(directory);
  const path = resolve(directory);
  return join(realpathSync(dirname(path)), basename(path));
}
