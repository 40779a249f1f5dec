import { once } from 'node:events';
import { readEnvironment } from '../config/environment.js';
import { GitProcess } from '../git/git-process.js';

/**
 * Starts a git command on a local repository, without network.
 *
 * @param directory The repository.
 * @param signal Kills git and its child processes.
 * @param protocol The protocol version that a client asks `upload-pack` for, as GIT_PROTOCOL.
 * @throws as GitProcess.start.
 */
export async function startLocalGit(
  directory: string,
  args: readonly string[],
  signal: AbortSignal,
  protocol?: string,
): Promise<GitProcess> {
  const env = { GIT_NO_LAZY_FETCH: '1', ...(protocol === undefined ? {} : { GIT_PROTOCOL: protocol }) };
  const git = await GitProcess.start(args, { directory, path: readEnvironment()['PATH'], signal, env });
  git.stderr.resume();
  return git;
}

/** Writes to git's input, as fast as git reads it. */
export async function writeTo({ stdin, code }: GitProcess, bytes: string | Buffer): Promise<void> {
  if (stdin.destroyed) throw new Error('Git exited before it had read its input');
  if (stdin.write(bytes)) return;
  await Promise.race([once(stdin, 'drain'), code]);
}

/** Runs a git command to its end. @throws Error if it fails. */
export async function runLocalGit(
  directory: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const git = await startLocalGit(directory, args, signal);
  git.stdout.resume();
  git.stdin.end();
  await succeeded(git, args);
}

/** @throws Error unless git exits successfully. */
export async function succeeded(git: GitProcess, [command]: readonly string[]): Promise<void> {
  const code = await git.code;
  if (code !== 0) throw new Error(`git ${command} failed with exit code ${code}`);
}
