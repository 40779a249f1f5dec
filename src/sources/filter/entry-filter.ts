import { matchesGlob } from './glob.js';

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
