import type { Summary } from '../../entry-store/entry-summary.js';
import { findForm, folded, type SearchWords, type Word } from './search-words.js';

/** Maximum words, and maximum characters of tags, tools and members, that are examined: a page has up to 100 entries. */
const MAX_WORDS = 3;
const MAX_TEXT = 4_096;

interface MatchedText {
  readonly in: 'tag' | 'tool' | 'member';
  readonly text: string;
}

/**
 * Explains why a search found an entry: for each word missing from the name and title, the first tag, tool or
 * member that contains it.
 *
 * @param members their names.
 */
export function matchedIn(
  name: string,
  { title = '', tags, tools = [] }: Pick<Summary, 'title' | 'tags' | 'tools'>,
  members: readonly string[],
  { words }: Pick<SearchWords, 'words'>,
): MatchedText[] | undefined {
  if (words.length === 0) return undefined;
  const head = folded(`${name.slice(name.lastIndexOf('/') + 1)}\n${title}`);
  const hidden = words.slice(0, MAX_WORDS).filter((word) => !hasWord(head, word));
  if (hidden.length === 0) return undefined;
  let left = MAX_TEXT;
  const texts = [
    ...tags.map((text) => ({ in: 'tag' as const, text })),
    ...tools.map((text) => ({ in: 'tool' as const, text })),
    ...members.map((text) => ({ in: 'member' as const, text })),
  ].filter(({ text }) => (left -= text.length) >= 0);
  const found = hidden.flatMap((word) => texts.find(({ text }) => hasWord(folded(text), word)) ?? []);
  return found.length === 0 ? undefined : [...new Set(found)];
}

function hasWord(text: string, { forms }: Word): boolean {
  let isFound = false;
  for (const form of forms)
    findForm(text, form, () => {
      isFound = true;
      return Infinity;
    });
  return isFound;
}
