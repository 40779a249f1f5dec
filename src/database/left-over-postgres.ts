import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const PATIENCE_MS = 12_000;

/**
 * Ends the PostgreSQL that a `kill -9` of the server left running: it lives on for a moment, or longer if the guard was
 * killed too. Only the owner of the directory may ask for it. Clients it may have do not keep it: they are not ours.
 *
 * @throws Error with a sentence for the administrator, when it does not end.
 */
export async function stopLeftOver(directory: string, log: (message: string) => void): Promise<void> {
  const pidFile = join(directory, 'postmaster.pid');
  const deadline = Date.now() + PATIENCE_MS;
  for (let asked = false; existsSync(pidFile); asked = true) {
    const [pid = ''] = readFileSync(pidFile, 'utf8').split('\n');
    if (!isPostgres(Number(pid), directory)) return;
    if (!asked) {
      log(`Stopping a PostgreSQL left over from a server that was killed (process ${pid})`);
      process.kill(Number(pid), 'SIGINT');
    }
    if (Date.now() > deadline)
      throw new Error(`PostgreSQL process ${pid} holds ${directory} and does not end`);
    await sleep(50);
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
