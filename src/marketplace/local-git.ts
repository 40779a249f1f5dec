import { once } from 'node:events';
import { readEnvironment } from '../config/environment.js';
import { GitProcess } from '../git/git-process.js';

/**
 * Starts a git command on a local repository, without network access.
 *
 * @param directory The repository.
 * @param signal Kills git and its child processes.
 * @param protocol The protocol version requested by the client of `upload-pack`, for GIT_PROTOCOL.
 * @throws as GitProcess.start.
 */
export function startLocalGit(
  directory: string,
  args: readonly string[],
  signal: AbortSignal,
  protocol?: string,
): Promise<GitProcess> {
  const env = { GIT_NO_LAZY_FETCH: '1', ...(protocol === undefined ? {} : { GIT_PROTOCOL: protocol }) };
  return GitProcess.start(args, { directory, path: readEnvironment()['PATH'], signal, env });
}

const MAX_MESSAGES_LENGTH = 4_096;

/**
 * Runs a git command until it exits.
 *
 * @throws errors of `input`; an Error if git fails, with Node's `code` if the disk is full or read-only.
 */
export async function runLocalGit(
  directory: string,
  args: readonly string[],
  signal: AbortSignal,
  input: AsyncIterable<string | Buffer> | Iterable<string> = [],
): Promise<void> {
  const git = await startLocalGit(directory, args, signal);
  let messages = '';
  git.stdout.resume();
  git.stderr.on('data', (chunk: Buffer) => (messages = `${messages}${chunk}`.slice(0, MAX_MESSAGES_LENGTH)));
  try {
    for await (const chunk of input) {
      // If git exits before it has read its input, its exit code explains why.
      if (git.stdin.destroyed) break;
      if (!git.stdin.write(chunk))
        await Promise.race([once(git.stdin, 'drain').catch(() => undefined), git.code]);
    }
  } catch (error) {
    git.kill();
    throw error;
  }
  git.stdin.end();
  const code = await git.code;
  if (code !== 0) throw gitFailure(args, code, messages);
}

const DISK_ERRORS = [
  [/No space left on device/, 'ENOSPC'],
  [/Disk quota exceeded/, 'EDQUOT'],
  [/Read-only file system/, 'EROFS'],
] as const;

function gitFailure(args: readonly string[], exitCode: number | null, messages: string): Error {
  const [, code] = DISK_ERRORS.find(([pattern]) => pattern.test(messages)) ?? [];
  const error = new Error(`git ${args.join(' ')} failed with exit code ${exitCode}: ${messages.trim()}`);
  return code === undefined ? error : Object.assign(error, { code });
}
