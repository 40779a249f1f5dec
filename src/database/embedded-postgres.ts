import { mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { prepareDataDirectory } from './data-directory.js';
import { stopLeftOver } from './left-over-postgres.js';
import { findPostgresBinaries } from './postgres-binaries.js';
import { type PostgresProcess, type ProcessOptions, runPostgres } from './postgres-process.js';

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
  const directory = resolve(dataDirectory);
  const log = options.log ?? (() => undefined);
  const binaries = await findPostgresBinaries();
  mkdirSync(dirname(directory), { recursive: true });
  const account = await prepareDataDirectory(directory, binaries, log);
  await stopLeftOver(directory, log);
  return runPostgres(directory, binaries, account, options);
}
