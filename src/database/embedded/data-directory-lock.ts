import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { bareEnvironment } from './postgres-account.js';

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
