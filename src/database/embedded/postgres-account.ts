import { execFile } from 'node:child_process';
import { chmodSync, chownSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import type { PostgresBinaries } from './postgres-binaries.js';

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
