import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { bareEnvironment } from './postgres-account.js';

const PATIENCE_MS = 12_000;

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
  const deadline = Date.now() + PATIENCE_MS;
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
