import type { FoundEntry } from '../api/types.js';

/**
 * Returns the first entry that every search found: it represents a member only if it has all of the member's packages
 * and URLs.
 */
export function representingEntry(results: readonly (readonly FoundEntry[])[]): FoundEntry | undefined {
  const [first = [], ...others] = results;
  return first.find(({ type, name }) =>
    others.every((found) => found.some((one) => one.type === type && one.name === name)),
  );
}
