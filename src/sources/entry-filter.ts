/** The number of character comparisons left for one entry. */
interface Budget {
  left: number;
}

const WILDCARD = /[*?]/;

/**
 * Returns whether a name matches a glob: `*` matches any number of characters including "/", and `?` matches exactly
 * one (reference/configuration). The worst-case time is proportional to pattern length × name length. Patterns come from users, so
 * this does not use regular expressions, which can take exponential time.
 */
export function matchesGlob(pattern: string, name: string): boolean {
  const wildcard = pattern.search(WILDCARD);
  if (wildcard < 0) return pattern === name;
  // Most globs differ from most names in the first characters.
  if (!name.startsWith(pattern.slice(0, wildcard))) return false;
  return matches([...pattern], [...name], { left: Infinity });
}

function matches(wanted: readonly string[], given: readonly string[], budget: Budget): boolean {
  let at = 0;
  let next = 0;
  let star = -1;
  let resumeAt = 0;
  while (next < given.length) {
    budget.left -= 1;
    if (budget.left <= 0) return false;
    if (wanted[at] === '*') {
      star = at;
      resumeAt = next;
      at += 1;
    } else if (at < wanted.length && (wanted[at] === '?' || wanted[at] === given[next])) {
      at += 1;
      next += 1;
    } else if (star >= 0) {
      // Extends the match of the last star by one character. Earlier stars never need backtracking.
      at = star + 1;
      resumeAt += 1;
      next = resumeAt;
    } else return false;
  }
  while (wanted[at] === '*') at += 1;
  return at === wanted.length;
}

interface Patterns {
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
}

/** Selects the entries of a source by name and tag globs. */
export interface StoredFilter {
  readonly names?: Patterns;
  readonly tags?: Patterns;
}

/**
 * Maximum number of character comparisons per entry, which take a few milliseconds. Two hundred globs such as `*word*`
 * and a hundred tags of 20 characters need a fifth of it.
 */
const MAX_COMPARISONS = 4_000_000;

/**
 * Exclude lists take precedence, and an include list needs a match. Names and tags must both pass (reference/configuration). An entry
 * whose tags take too long to compare does not pass: an upstream chooses them, and the comparison blocks other requests.
 */
export function passesFilter(filter: StoredFilter, name: string, tags: readonly string[]): boolean {
  const budget = { left: MAX_COMPARISONS };
  return passes(filter.names, [name], budget) && passes(filter.tags, tags, budget);
}

function passes(patterns: Patterns | undefined, values: readonly string[], budget: Budget): boolean {
  const { include = [], exclude = [] } = patterns ?? {};
  if (include.length === 0 && exclude.length === 0) return true;
  budget.left -= values.reduce((length, value) => length + value.length, 0);
  if (budget.left <= 0) return false;
  const given = values.map((value) => [...value]);
  const anyMatches = (list: readonly string[]) =>
    list.some((pattern) => {
      const wanted = [...pattern];
      return given.some((value) => {
        // Even values without characters take time.
        budget.left -= 1;
        return matches(wanted, value, budget);
      });
    });
  if (anyMatches(exclude) || budget.left <= 0) return false;
  return include.length === 0 || anyMatches(include);
}
