/**
 * Whether a name matches a pattern in which `*` stands for any characters, "/" included, and `?` for exactly one
 * (contract §2). Time grows with pattern times name at worst: patterns come from users, so a regular expression, which
 * can take exponential time, will not do.
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
      // The last star takes one character more. Earlier stars never have to be tried again.
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

/** Which entries of a source are served: by name and by tag, both as globs. */
export interface EntryFilter {
  readonly names?: Patterns;
  readonly tags?: Patterns;
}

/** contract §2: exclude wins; with an include list at least one pattern must match. Both parts of the filter must agree. */
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
