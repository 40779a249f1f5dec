import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { bareEnvironment, findAccount, giveTo, type PostgresAccount } from './postgres-account.js';
import type { PostgresBinaries } from './postgres-binaries.js';
import { SUPERUSER } from './postgres-process.js';

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
