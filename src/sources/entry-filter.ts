/**
 * Returns whether a name matches a glob: `*` matches any number of characters including "/", and `?` matches exactly
 * one (contract §2). The worst-case time is proportional to pattern length × name length. Patterns come from users, so
 * this does not use regular expressions, which can take exponential time.
 */
export function matchesGlob(pattern: string, name: string): boolean {
  const wanted = [...pattern];
  const given = [...name];
  let at = 0;
  let next = 0;
  let star = -1;
  let resumeAt = 0;
  while (next < given.length) {
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
export interface EntryFilter {
  readonly names?: Patterns;
  readonly tags?: Patterns;
}

/** Exclude lists take precedence, and an include list needs a match. Names and tags must both pass (contract §2). */
export function passesFilter(filter: EntryFilter, name: string, tags: readonly string[]): boolean {
  return passes(filter.names, [name]) && passes(filter.tags, tags);
}

function passes(patterns: Patterns | undefined, values: readonly string[]): boolean {
  const anyMatches = (list: readonly string[]) =>
    list.some((pattern) => values.some((value) => matchesGlob(pattern, value)));
  if (anyMatches(patterns?.exclude ?? [])) return false;
  const include = patterns?.include ?? [];
  return include.length === 0 || anyMatches(include);
}
