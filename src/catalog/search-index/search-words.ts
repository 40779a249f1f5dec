import { BUILT_IN, FILLERS, MINOR, SAME_MEANING, topicsOf } from './synonyms.js';

/** How a query word occurs in a text, best first. */
export const WHOLE = 0;
export const BEGINS = 1;
const INSIDE = 2;
export const ABSENT = 3;

/** Minimum length of a word that also matches inside other words. */
export const MIN_INSIDE = 3;
/** Synonyms that are shorter match whole words only, because nobody typed their beginning. */
const MIN_SYNONYM_BEGINS = 5;

const WORD = /[\p{L}\p{M}\p{N}]+/gu;
const IN_WORD = /[\p{L}\p{M}\p{N}\ud800-\udfff]/u;
const ACCENTS = /[\u0300-\u036f]/g;
/** Singular words that end in `s`, and plurals that the first pattern would catch. */
const SINGULAR = /(?:ss|us|is|news|canvas|atlas|kubernetes|postgres)$/;
const PLURAL = /^(?:api|cli|ui|wiki|emoji)s$/;

/** Returns a text in lower case, without accents. */
export function folded(text: string): string {
  const lower = text.toLowerCase();
  const isAscii = Buffer.byteLength(lower) === lower.length;
  return isAscii ? lower : lower.normalize('NFKD').replace(ACCENTS, '').normalize('NFC');
}

/** Returns the words of a folded text: runs of letters and digits. */
function wordsIn(text: string): readonly string[] {
  return text.match(WORD) ?? [];
}

/** Returns the words by which people search for the products that a folded text names. */
export function topicsIn(text: string): string {
  return [...new Set(wordsIn(text).map(topicsOf))].join('');
}

function singular(word: string): string {
  if (word.length <= 3 || !word.endsWith('s')) return word;
  return SINGULAR.test(word) && !PLURAL.test(word) ? word : word.slice(0, -1);
}

/** How much a missing word counts, in addition to its letters; names of products count more. */
const WORD_WEIGHT = 5;
const PRODUCT_WEIGHT = 15;
/** Minimum length of a word that may be written as several. */
const MIN_SPLIT = 6;
/** Minimum length of a stem. */
const MIN_STEM = 4;
const ENDING = /(?:(?<=i[sz])ation|(?<=.{5})(?:ion|ity|[ey])|ing|ed|er|or|e?ment)$/;
const DOUBLED = /([bdgmnp])\1$/;

/** Returns the beginning that a word shares with its verb and nouns: `monitor` for `monitoring`, `scrap` for `scrape`. */
function stemOf(word: string): string {
  const stem = word.replace(ENDING, '');
  if (stem.length < MIN_STEM) return word;
  return stem === word ? word : stem.replace(DOUBLED, '$1');
}

const MINOR_STEMS = new Set(MINOR.map(stemOf));

/** Groups of equivalent words in the singular, by each of their words. */
export type Synonyms = ReadonlyMap<string, readonly string[]>;

/** Adds groups of equivalent words to the built-in ones; groups that share a word are merged. */
export function synonymsOf(configured: readonly (readonly string[])[], isTolerant = false): Synonyms {
  const synonyms = new Map<string, readonly string[]>();
  for (const group of [...BUILT_IN, ...(isTolerant ? SAME_MEANING : []), ...configured]) {
    const words = group.map((word) => singular(folded(word)));
    const all = [...new Set(words.flatMap((word) => [word, ...(synonyms.get(word) ?? [])]))];
    for (const word of all) synonyms.set(word, all);
  }
  return synonyms;
}

/** A spelling of a query word. */
export interface Form {
  readonly text: string;
  /** The worst occurrence that counts as a match. */
  readonly worst: typeof WHOLE | typeof BEGINS | typeof INSIDE;
}

/** A query word, as typed, folded and in the singular, with its other forms. */
export interface Word {
  readonly forms: readonly [Form, ...Form[]];
  /** Whether an entry may lack it. */
  readonly isMinor: boolean;
  /** Finds it written as several words: `web-scraping` for `webscraper`. */
  readonly split?: RegExp;
  /** How much it matters if an entry lacks it. */
  readonly weight: number;
}

/** A query in the form compared with texts. */
export interface SearchWords {
  /** Each must occur, unless it is minor or the search is partial. */
  readonly words: readonly Word[];
  /** Words with a slash, in lower case, which match the beginnings of names. */
  readonly names: readonly string[];
  /** The whole query as a name, in lower case. */
  readonly name: string;
  /** Whether the query has no words to find. */
  readonly isEmpty: boolean;
  /** Whether the search is tolerant (reference/search). */
  readonly isTolerant: boolean;
}

/**
 * Splits a query into its distinct words, which `MAX_WORDS` limits.
 *
 * @param isTolerant whether the search is tolerant: fillers are ignored, minor words may be missing, and stems and
 * joined words are found
 */
export function searchWords(q: string, synonyms: Synonyms, isTolerant = false): SearchWords {
  const names = new Set<string>();
  const typed: string[] = [];
  for (const token of q.split(/\s+/u)) {
    const found = wordsIn(folded(token));
    if (token.includes('/')) {
      if (found.length > 0) names.add(token.toLowerCase());
    } else typed.push(...found.map(singular));
  }
  const formsOf = (word: string): Word['forms'] => [
    { text: word, worst: word.length >= MIN_INSIDE ? INSIDE : BEGINS },
    ...(synonyms.get(word) ?? [])
      .filter((other) => other !== word)
      .map((text) => ({ text, worst: text.length >= MIN_SYNONYM_BEGINS ? BEGINS : WHOLE }) as const),
    ...(isTolerant ? tolerantFormsOf(word, typed) : []),
  ];
  const all = [...new Set(typed)];
  const words = isTolerant ? without(all, (word) => FILLERS.has(word)) : all;
  const major = isTolerant ? without(words, (word) => MINOR_STEMS.has(stemOf(word))) : words;
  return {
    words: words.map((word) => ({
      forms: formsOf(word),
      isMinor: !major.includes(word),
      ...(isTolerant && word.length >= MIN_SPLIT ? { split: splitOf(word) } : {}),
      weight: word.length + (/\d/.test(word) || topicsOf(word) !== '' ? PRODUCT_WEIGHT : WORD_WEIGHT),
    })),
    names: [...names],
    name: q.trim().toLowerCase(),
    isEmpty: words.length + names.size === 0,
    isTolerant,
  };
}

/** Removes words, unless none would remain. */
function without(words: readonly string[], isRemoved: (word: string) => boolean): readonly string[] {
  const left = words.filter((word) => !isRemoved(word));
  return left.length > 0 ? left : words;
}

/** Returns the stem of a word, and the word joined with its neighbors: `github` for `git hub`. */
function tolerantFormsOf(word: string, typed: readonly string[]): readonly Form[] {
  const joined = typed.flatMap((each, at) => {
    const next = typed[at + 1];
    return next !== undefined && (each === word || next === word) ? [each + next] : [];
  });
  return [stemOf(word), ...joined]
    .filter((text) => text !== word && text.length >= MIN_STEM)
    .map((text) => ({ text, worst: BEGINS }));
}

/** Whether a character of a folded text belongs to a word. */
export function isInWord(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  if (code < 128) return (code >= 97 && code <= 122) || (code >= 48 && code <= 57);
  // NaN beyond the text.
  return code >= 128 && IN_WORD.test(text.charAt(at));
}

/** Receives the offset and kind of an occurrence; returns the offset from which to look for a better one, or Infinity. */
export type Found = (at: number, occurrence: number, word?: string) => number;

/** Finds the occurrences of a form in a folded text. */
export function findForm(text: string, { text: form, worst }: Form, found: Found): void {
  for (let at = text.indexOf(form); at >= 0;) {
    const begins = at === 0 || !isInWord(text, at - 1);
    const end = at + form.length;
    const isWhole = begins && (!isInWord(text, end) || (text[end] === 's' && !isInWord(text, end + 1)));
    const occurrence = isWhole ? WHOLE : begins ? BEGINS : INSIDE;
    const next = occurrence <= worst ? found(at, occurrence) : at + 1;
    if (next === Infinity) return;
    at = text.indexOf(form, next);
  }
}

function splitOf(word: string): RegExp {
  return new RegExp(`(?<![a-z0-9])${[...stemOf(word)].join('[ _.-]?')}[a-z0-9]*`, 'g');
}

/** Finds words that, written as one, begin with the stem of a query word. */
export function findSplit(text: string, { split }: Word, found: Found): void {
  if (!split) return;
  for (const match of text.matchAll(split)) if (found(match.index, BEGINS, match[0]) === Infinity) return;
}

/** Whether a text consists of exactly the query's words, in order; fillers do not count if the query has none. */
export function isQuery(text: string, { words, names, isTolerant }: SearchWords): boolean {
  // Most texts begin with another word, and splitting them would be slower.
  if (names.length > 0 || (!isTolerant && !words[0]?.forms.some((form) => text.startsWith(form.text))))
    return false;
  const all = wordsIn(text).map(singular);
  const found = isTolerant ? without(all, (word) => FILLERS.has(word)) : all;
  return (
    (isTolerant && found.join('') === words.map(({ forms: [typed] }) => typed.text).join('')) ||
    (found.length === words.length &&
      words.every(({ forms }, index) => forms.some((form) => form.text === found[index])))
  );
}
