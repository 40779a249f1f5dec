import { spawn } from 'node:child_process';
import { devNull } from 'node:os';
import { tracing } from '../../telemetry/tracing.js';
import { FetchError } from '../fetcher.js';
import { SSH_COMMAND } from './git-connection.js';

const MIB = 1024 * 1024;
const STDERR_BYTES = 8 * 1024;
/** The first git version that supports GIT_CONFIG_GLOBAL. */
const MIN_VERSION = { major: 2, minor: 32 };
/** The first git version that supports http.curloptResolve. */
const MIN_VERSION_TO_PIN = { major: 2, minor: 37 };

/** Limits for fetching one file. */
export interface GitLimits {
  /** Timeout for `ls-remote`. */
  readonly lsRemoteMs: number;
  /** Timeout for all commands combined. */
  readonly totalMs: number;
  /** Maximum size of the temporary directory. */
  readonly diskBytes: number;
  /** Maximum size of the file. */
  readonly fileBytes: number;
}

export const LIMITS: GitLimits = {
  lsRemoteMs: 60_000,
  totalMs: 300_000,
  diskBytes: 256 * MIB,
  fileBytes: 64 * MIB,
};

/** Settings that disable hooks, helpers, maintenance, redirects and submodules. */
export const LOCKED_DOWN = {
  core: {
    hooksPath: devNull,
    askPass: '',
    logAllRefUpdates: 'false',
    // Git streams larger objects in pieces, so that a repository cannot exhaust memory.
    bigFileThreshold: '1m',
  },
  credential: { helper: '' },
  fetch: { unpackLimit: '1', writeCommitGraph: 'false', recurseSubmodules: 'false' },
  gc: { auto: '0' },
  http: { followRedirects: 'false', lowSpeedLimit: '1', lowSpeedTime: '30' },
  maintenance: { auto: 'false' },
  pack: { threads: '1' },
  protocol: { version: '2' },
  submodule: { recurse: 'false' },
  transfer: { bundleURI: 'false' },
} as const;

/** The result of a git command. */
export interface GitResult {
  readonly code: number | null;
  /** The end of stderr, which includes messages from the remote and must not be shown unfiltered. */
  readonly stderr: string;
}

interface GitCall {
  /** The repository's directory, which is also git's home directory. */
  readonly directory: string;
  /** The server's PATH. */
  readonly path: string | undefined;
  /** The only protocol git may use. */
  readonly protocol: string;
  /** Kills git and its child processes. */
  readonly signal: AbortSignal;
  /** Receives the output; returning false kills git. */
  readonly onOutput: (chunk: Buffer) => boolean;
}

/** The git command is not installed. */
export class GitMissingError extends Error {}

/**
 * Runs git without a shell in a clean environment: no system or user configuration, no prompts, no proxy variables (the
 * configuration names the proxy), no tracing, and messages in English. Git gets its own process group, so that its
 * child processes can be killed along with it.
 */
export function runGit(args: readonly string[], call: GitCall): Promise<GitResult> {
  // The span name must have few distinct values and no secrets, so it contains only the subcommand.
  const command = args.find((argument) => /^[a-z-]+$/.test(argument) && !argument.startsWith('-')) ?? '';
  return tracing.inSpan(`git ${command}`.trim(), {}, () => run(args, call));
}

function run(args: readonly string[], call: GitCall): Promise<GitResult> {
  return new Promise((resolve, reject) => {
    call.signal.throwIfAborted();
    const child = spawn('git', [...args], {
      cwd: call.directory,
      env: environmentOf(call),
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    let stderr = Buffer.alloc(0);
    const kill = () => {
      if (child.pid === undefined) return;
      try {
        process.kill(-child.pid, 'SIGKILL');
      } catch {
        // The process has already exited.
      }
    };
    call.signal.addEventListener('abort', kill, { once: true });
    child.stdout.on('data', (chunk: Buffer) => {
      if (!call.onOutput(chunk)) kill();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      stderr = Buffer.concat([stderr, chunk]).subarray(-STDERR_BYTES);
    });
    child.once('error', (error: NodeJS.ErrnoException) => {
      call.signal.removeEventListener('abort', kill);
      reject(error.code === 'ENOENT' ? new GitMissingError() : error);
    });
    // `close` is emitted once all pipes are closed, and therefore after all child processes have exited.
    child.once('close', (code) => {
      call.signal.removeEventListener('abort', kill);
      if (call.signal.aborted) reject(call.signal.reason as Error);
      else resolve({ code, stderr: stderr.toString() });
    });
  });
}

function environmentOf({ directory, path, protocol }: GitCall): NodeJS.ProcessEnv {
  return {
    ...(path === undefined ? {} : { PATH: path }),
    HOME: directory,
    LC_ALL: 'C',
    GIT_DIR: directory,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: devNull,
    GIT_ATTR_NOSYSTEM: '1',
    GIT_ALLOW_PROTOCOL: protocol,
    GIT_TERMINAL_PROMPT: '0',
    GIT_SSH_COMMAND: SSH_COMMAND,
    GIT_SSH_VARIANT: 'ssh',
    GIT_LITERAL_PATHSPECS: '1',
    // Limits the size of each allocation, so that the remote cannot exhaust memory.
    GIT_ALLOC_LIMIT: '128m',
  };
}

/**
 * @param output the output of `git version`.
 * @param isPinned whether git must connect to pinned addresses.
 * @throws FetchError if the version is not supported.
 */
export function checkGitVersion(output: string, isPinned: boolean): void {
  const [, major = 0, minor = 0] = /(\d+)\.(\d+)/.exec(output)?.map(Number) ?? [];
  const needed = isPinned ? MIN_VERSION_TO_PIN : MIN_VERSION;
  if (major > needed.major || (major === needed.major && minor >= needed.minor)) return;
  throw new FetchError(
    `The installed git is too old: ${output.trim()}, version ${needed.major}.${needed.minor} or newer is required`,
  );
}
