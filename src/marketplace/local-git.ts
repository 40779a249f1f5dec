import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { devNull } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { readEnvironment } from '../config/environment.js';

/** A git command on a local repository: no shell, no configuration of the system or the user, no network. */
export class LocalGit {
  readonly child: ChildProcessByStdio<Writable, Readable, null>;
  /** The exit code; null after a signal. Rejects if git is not installed. */
  readonly code: Promise<number | null>;

  /**
   * @param directory The repository.
   * @param signal Kills git and its child processes.
   * @param protocol The protocol version that a client asks `upload-pack` for, as GIT_PROTOCOL.
   */
  constructor(directory: string, args: readonly string[], signal: AbortSignal, protocol?: string) {
    signal.throwIfAborted();
    const { PATH } = readEnvironment();
    this.child = spawn('git', [...args], {
      cwd: directory,
      env: {
        ...(PATH === undefined ? {} : { PATH }),
        ...(protocol === undefined ? {} : { GIT_PROTOCOL: protocol }),
        HOME: directory,
        LC_ALL: 'C',
        GIT_DIR: directory,
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_CONFIG_GLOBAL: devNull,
        GIT_ATTR_NOSYSTEM: '1',
        GIT_NO_LAZY_FETCH: '1',
        GIT_ALLOW_PROTOCOL: 'none',
      },
      stdio: ['pipe', 'pipe', 'ignore'],
      detached: true,
    });
    const kill = () => this.kill();
    signal.addEventListener('abort', kill, { once: true });
    // Git may exit before it has read its input.
    this.child.stdin.on('error', () => undefined);
    this.code = new Promise((resolve, reject) => {
      this.child.once('error', reject);
      this.child.once('close', (code) => {
        signal.removeEventListener('abort', kill);
        resolve(code);
      });
    });
    // A rejection is for the code that awaits it.
    this.code.catch(() => undefined);
  }

  kill(): void {
    const { pid } = this.child;
    if (pid === undefined) return;
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // The process has already exited.
    }
  }

  /** Writes to git's input, as fast as git reads it. */
  async write(bytes: string | Buffer): Promise<void> {
    const { stdin } = this.child;
    if (stdin.destroyed) throw new Error('Git exited before it had read its input');
    if (stdin.write(bytes)) return;
    await Promise.race([once(stdin, 'drain'), this.code]);
  }

  /** Ends git's input. */
  end(bytes?: Buffer): void {
    this.child.stdin.end(bytes);
  }
}

/** Runs a git command to its end. @throws Error if it fails. */
export async function runLocalGit(
  directory: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const git = new LocalGit(directory, args, signal);
  git.child.stdout.resume();
  git.end();
  await succeeded(git, args);
}

/** @throws Error unless git exits successfully. */
export async function succeeded(git: LocalGit, [command]: readonly string[]): Promise<void> {
  const code = await git.code;
  if (code !== 0) throw new Error(`git ${command} failed with exit code ${code}`);
}
