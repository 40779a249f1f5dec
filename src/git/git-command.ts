import { mkdir, symlink } from 'node:fs/promises';
import { devNull } from 'node:os';
import { join } from 'node:path';
import {
  GitMissingError,
  type GitOptions,
  GitProcess,
  NOT_FOUND,
  type ProcessLimits,
} from './git-process.js';
import { FetchError } from '../outbound/fetch-error.js';
import { inSpan } from '../telemetry/tracing.js';
import { SSH_COMMAND } from './git-connection.js';
import { withoutBeginning } from './git-failures.js';

const MIB = 1024 * 1024;
const STDERR_BYTES = 8 * 1024;
/** The first git version that supports GIT_CONFIG_GLOBAL. */
const MIN_VERSION = { major: 2, minor: 32 };
/** The first git version that supports http.curloptResolve. */
const MIN_VERSION_TO_PIN = { major: 2, minor: 37 };

/** Limits for fetching one file. */
export interface GitLimits extends ProcessLimits {
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
  // Up to four processes use a lot of memory at the same time: 256 MiB together.
  dataBytes: 64 * MIB,
  // A legitimate pack of half a gigabyte takes a few seconds.
  cpuSeconds: 60,
};

/** Settings that disable hooks, helpers, maintenance, redirects and submodules. */
export const LOCKED_DOWN = {
  core: {
    hooksPath: devNull,
    askPass: '',
    logAllRefUpdates: 'false',
    // Git streams larger objects in pieces, so that a repository cannot exhaust memory.
    bigFileThreshold: '1m',
    deltaBaseCacheLimit: '16m',
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

export interface GitResult {
  readonly code: number | null;
  /** The end of stderr, which includes messages from the remote: see `explain`. */
  readonly stderr: string;
}

interface GitCall extends Pick<GitOptions, 'directory' | 'path' | 'signal' | 'limits'> {
  /** The only protocol git may use. */
  readonly protocol: string;
  /** The folder of the programs that git may run (`linkPrograms`); undefined for git's own folder. */
  readonly programs: string | undefined;
  /** Written to standard input. */
  readonly input?: string | undefined;
  /** Reads the output; git is killed if it returns before the end. */
  readonly consume: (output: AsyncIterable<Buffer>) => Promise<void>;
}

/** Runs git and returns its exit code and messages. */
export function runGit(args: readonly string[], call: GitCall): Promise<GitResult> {
  // The span name must have few distinct values and no secrets, so it contains only the subcommand.
  const command = args.find((argument) => /^[a-z-]+$/.test(argument) && !argument.startsWith('-')) ?? '';
  return inSpan(`git ${command}`.trim(), {}, () => run(args, call));
}

async function run(args: readonly string[], call: GitCall): Promise<GitResult> {
  const git = await GitProcess.start(args, { ...call, env: variablesOf(call) });
  git.stdin.end(call.input);
  let stderr = Buffer.alloc(0);
  let isCut = false;
  git.stderr.on('data', (chunk: Buffer) => {
    const all = Buffer.concat([stderr, chunk]);
    isCut ||= all.length > STDERR_BYTES;
    stderr = all.subarray(-STDERR_BYTES);
  });
  let isWhole = false;
  git.stdout.once('end', () => {
    isWhole = true;
  });
  const reading = call.consume(git.stdout).finally(() => {
    if (isWhole) return;
    git.kill();
    git.stdout.destroy();
  });
  const [read, code] = [(await Promise.allSettled([reading]))[0], await git.code];
  call.signal.throwIfAborted();
  // If git ended by itself, its own failure is the cause.
  if (read.status === 'rejected' && !(isWhole && code !== 0)) throw read.reason;
  if (code === NOT_FOUND) throw new GitMissingError();
  return { code, stderr: isCut ? withoutBeginning(stderr.toString()) : stderr.toString() };
}

function variablesOf({ protocol, programs }: GitCall): Record<string, string> {
  return {
    GIT_ALLOW_PROTOCOL: protocol,
    GIT_SSH_COMMAND: SSH_COMMAND,
    GIT_SSH_VARIANT: 'ssh',
    GIT_LITERAL_PATHSPECS: '1',
    ...(programs === undefined ? {} : { GIT_EXEC_PATH: programs }),
  };
}

/**
 * Fills the folder with links to the only programs that git may run for us. Otherwise a server could make git run
 * others, such as `http-fetch` with an address of the server's choice (`packfile-uris`).
 *
 * @param execPath the output of `git --exec-path`.
 */
export async function linkPrograms(folder: string, execPath: string): Promise<void> {
  await mkdir(folder);
  for (const program of ['git', 'git-remote-http', 'git-remote-https'])
    await symlink(join(execPath, program), join(folder, program));
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
