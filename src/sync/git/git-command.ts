import { spawn } from 'node:child_process';
import { devNull } from 'node:os';
import { tracing } from '../../telemetry/tracing.js';
import { FetchError } from '../fetcher.js';
import { SSH_COMMAND } from './git-connection.js';

/** How a git command ended. */
export interface GitEnd {
  readonly code: number | null;
  /** The last of what it complained about; written by git and by the other side, so not to be shown as it is. */
  readonly stderr: string;
}

export interface GitCall {
  /** The repository that is worked in; also the home directory git sees. */
  readonly directory: string;
  /** Of the process of this server: where git and ssh are found. */
  readonly path: string | undefined;
  /** The one protocol git may speak. */
  readonly protocol: string;
  /** Ends git and everything it started. */
  readonly signal: AbortSignal;
  /** Takes the output; false ends git. */
  readonly take: (chunk: Buffer) => boolean;
}

/** There is no git to call. */
export class GitMissingError extends Error {}

const STDERR_BYTES = 8 * 1024;

/**
 * Runs git without a shell, in an environment of its own: no configuration of the machine or the user, no prompts, no
 * proxies (the one to use stands in the settings), no tracing, messages in English. It leads a process group, so that what it starts ends with it.
 */
export function runGit(args: readonly string[], call: GitCall): Promise<GitEnd> {
  // The arguments name what is fetched; the command alone is without number and without secrets.
  const command = args.find((argument) => /^[a-z-]+$/.test(argument) && !argument.startsWith('-')) ?? '';
  return tracing.inSpan(`git ${command}`.trim(), {}, () => run(args, call));
}

function run(args: readonly string[], call: GitCall): Promise<GitEnd> {
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
        // It has ended already.
      }
    };
    call.signal.addEventListener('abort', kill, { once: true });
    child.stdout.on('data', (chunk: Buffer) => {
      if (!call.take(chunk)) kill();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      stderr = Buffer.concat([stderr, chunk]).subarray(-STDERR_BYTES);
    });
    child.once('error', (error: NodeJS.ErrnoException) => {
      call.signal.removeEventListener('abort', kill);
      reject(error.code === 'ENOENT' ? new GitMissingError() : error);
    });
    // `close` comes when nobody has the pipes any more, hence after everything git started.
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
    // The most git may ask for at once: what the other side sends is unpacked in pieces or not at all.
    GIT_ALLOC_LIMIT: '128m',
  };
}

/** What git must not do by itself, and what it must not take from the other side. */
export const LOCKED_DOWN = {
  core: {
    hooksPath: devNull,
    askPass: '',
    logAllRefUpdates: 'false',
    // Larger objects are unpacked piece by piece: what somebody put into a repository must not fill the memory.
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

/** GIT_CONFIG_GLOBAL came with the one, http.curloptResolve with the other. */
const NEEDED = { major: 2, minor: 32 };
const NEEDED_TO_PIN = { major: 2, minor: 37 };

/**
 * @param said what `git --version` prints.
 * @param isPinned whether git has to connect to addresses that it is given.
 * @throws FetchError for a version before the oldest that is supported.
 */
export function checkGitVersion(said: string, isPinned: boolean): void {
  const [, major = 0, minor = 0] = /(\d+)\.(\d+)/.exec(said)?.map(Number) ?? [];
  const needed = isPinned ? NEEDED_TO_PIN : NEEDED;
  if (major > needed.major || (major === needed.major && minor >= needed.minor)) return;
  throw new FetchError(
    `The git command of this machine is too old: ${said.trim()}, at least ${needed.major}.${needed.minor} is needed`,
  );
}

const MIB = 1024 * 1024;

/** What one visit to a repository may take. */
export interface GitLimits {
  /** For the question which commit there is. */
  readonly askMs: number;
  /** For everything together. */
  readonly totalMs: number;
  /** What may be on the disk. */
  readonly diskBytes: number;
  /** What is read of the file. */
  readonly fileBytes: number;
}

export const LIMITS: GitLimits = {
  askMs: 60_000,
  totalMs: 300_000,
  diskBytes: 256 * MIB,
  fileBytes: 64 * MIB,
};
