import { FetchError } from '../fetcher.js';

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
