import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { devNull } from 'node:os';
import type { Readable, Writable } from 'node:stream';

const KIB = 1024;

/** Limits of git and of each of its child processes. */
export interface ProcessLimits {
  /** Memory that a process allocates (RLIMIT_DATA); mapped files don't count. */
  readonly dataBytes: number;
  readonly cpuSeconds: number;
}

export interface GitOptions {
  /** The repository's directory, which is also git's home directory. */
  readonly directory: string;
  /** The server's PATH. */
  readonly path: string | undefined;
  /** Kills git and its child processes. */
  readonly signal: AbortSignal;
  /** Additional variables for this command. */
  readonly env?: Readonly<Record<string, string>>;
  /** Set for commands that read from another server; they also run with a lower priority. */
  readonly limits?: ProcessLimits;
}

/** Git is not installed. */
export class GitMissingError extends Error {}

/** The exit code of `sh` and `nice` for a command that does not exist. */
export const NOT_FOUND = 127;

/**
 * A git command in a clean environment: no system or user configuration, no prompts, no proxy variables, no tracing,
 * messages in English, and no protocol unless `env` allows one. Git gets its own process group, so that its child
 * processes can be killed along with it.
 */
export class GitProcess {
  /** The exit code; null after a signal. Resolves once all pipes are closed, and therefore after all child processes have exited. */
  readonly code: Promise<number | null>;

  private constructor(
    private readonly child: ChildProcess & { stdin: Writable; stdout: Readable; stderr: Readable },
    signal: AbortSignal,
  ) {
    const kill = () => this.kill();
    signal.addEventListener('abort', kill, { once: true });
    // Git may exit before it has read its input.
    this.stdin.on('error', () => undefined);
    this.code = new Promise((resolve) => {
      child.once('close', (code) => {
        signal.removeEventListener('abort', kill);
        resolve(code);
      });
    });
    // The signal may have aborted while the process was starting.
    if (signal.aborted) kill();
  }

  /**
   * Starts git. Unless its errors are read, they fill the pipe and stop git: call `stderr.resume()` to discard them.
   *
   * @throws GitMissingError; the error of `spawn` if the server has no descriptor, process or memory left.
   */
  static async start(args: readonly string[], options: GitOptions): Promise<GitProcess> {
    const { directory, signal, limits } = options;
    signal.throwIfAborted();
    const [command, ...rest] = [...(limits ? limited(limits) : ['git']), ...args] as [string, ...string[]];
    const child = spawn(command, rest, {
      cwd: directory,
      env: environmentOf(options),
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    });
    // If descriptors run out, there are no pipes, and `error` is emitted instead of `spawn`.
    await once(child, 'spawn').catch((error: NodeJS.ErrnoException) => {
      // ENOENT may also mean that the directory is missing.
      throw error.code === 'ENOENT' && existsSync(directory) ? new GitMissingError() : error;
    });
    child.on('error', () => undefined);
    return new GitProcess(child, signal);
  }

  get stdin(): Writable {
    return this.child.stdin;
  }

  get stdout(): Readable {
    return this.child.stdout;
  }

  get stderr(): Readable {
    return this.child.stderr;
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
}

/**
 * Node cannot limit a child process itself. A limit that the system does not support, or that is already lower, stays
 * as it is.
 */
function limited({ dataBytes, cpuSeconds }: ProcessLimits): string[] {
  const limits = [`ulimit -d ${Math.floor(dataBytes / KIB)}`, `ulimit -S -t ${cpuSeconds}`];
  const script = [...limits.map((limit) => `${limit} 2>/dev/null`), 'exec nice -n 10 git "$@"'].join('; ');
  return ['/bin/sh', '-c', script, 'git'];
}

function environmentOf({ directory, path, env }: GitOptions): NodeJS.ProcessEnv {
  return {
    ...(path === undefined ? {} : { PATH: path }),
    HOME: directory,
    LC_ALL: 'C',
    GIT_DIR: directory,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: devNull,
    GIT_ATTR_NOSYSTEM: '1',
    GIT_ALLOW_PROTOCOL: 'none',
    GIT_TERMINAL_PROMPT: '0',
    ...env,
  };
}
