import type { FoundEntry } from '../api/types.js';

/** Returns the first entry that every search found: it stands for a member only with all packages and URLs of it. */
export function inAll(results: readonly (readonly FoundEntry[])[]): FoundEntry | undefined {
  const [first = [], ...others] = results;
  return first.find(({ type, name }) =>
    others.every((found) => found.some((one) => one.type === type && one.name === name)),
  );
}
