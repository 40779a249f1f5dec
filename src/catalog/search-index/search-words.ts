import { FILLERS, MINOR, SAME_MEANING, topicsOf } from './vocabulary.js';

/** How a query word occurs in a text, best first. */
export const WHOLE = 0;
export const BEGINS = 1;
const INSIDE = 2;
export const ABSENT = 3;

/** Minimum length of a word that also matches inside other words. */
export const MIN_INSIDE = 3;
/** Minimum length of a word that also matches with one letter wrong. */
const MIN_CORRECTED = 5;
/** Shorter synonyms of a typed word match whole words only, because nobody typed their beginning. */
const MIN_SYNONYM_BEGINS = 5;

const BUILT_IN: readonly (readonly string[])[] = [
  ['postgres', 'postgresql'],
  ['k8s', 'kubernetes'],
  ['aws', 'amazon'],
  ['gcp', 'google'],
  ['js', 'javascript'],
  ['ts', 'typescript'],
  ['db', 'database'],
  ['repo', 'repository'],
  ['auth', 'authentication'],
  ['docs', 'documentation'],
];

const WORD = /[\p{L}\p{M}\p{N}]+/gu;
const IN_WORD = /[\p{L}\p{M}\p{N}\ud800-\udfff]/u;
const ACCENTS = /[\u0300-\u036f]/g;
/** Singular words that end in `s`, and plurals that the first pattern would catch. */
const SINGULAR = /(?:ss|us|is|news|canvas|atlas|kubernetes|postgres)$/;
const PLURAL = /^(?:api|cli|ui|wiki|emoji)s$/;

/** Returns a text in lower case and without accents. */
export function folded(text: string): string {
  const lower = text.toLowerCase();
  const isAscii = Buffer.byteLength(lower) === lower.length;
  return isAscii ? lower : lower.normalize('NFKD').replace(ACCENTS, '').normalize('NFC');
}

/** Returns the words of a folded text: runs of letters and digits. */
function wordsIn(text: string): readonly string[] {
  return text.match(WORD) ?? [];
}

/** Returns what people type who look for products named in a folded text. */
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
export function synonymsOf(configured: readonly (readonly string[])[], isFree = false): Synonyms {
  const synonyms = new Map<string, readonly string[]>();
  for (const group of [...BUILT_IN, ...(isFree ? SAME_MEANING : []), ...configured]) {
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
  /** Whether to use the vocabulary. */
  readonly isFree: boolean;
}

/**
 * Splits a query into its distinct words, which `MAX_WORDS` limits.
 *
 * @param isFree whether to use the vocabulary: no fillers, minor words, stems, and neighbors written as one word
 */
export function searchWords(q: string, synonyms: Synonyms, isFree = false): SearchWords {
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
    ...(isFree ? freeFormsOf(word, typed) : []),
  ];
  const all = [...new Set(typed)];
  const words = isFree ? without(all, (word) => FILLERS.has(word)) : all;
  const major = isFree ? without(words, (word) => MINOR_STEMS.has(stemOf(word))) : words;
  return {
    words: words.map((word) => ({
      forms: formsOf(word),
      isMinor: !major.includes(word),
      ...(isFree && word.length >= MIN_SPLIT ? { split: splitOf(word) } : {}),
      weight: word.length + (/\d/.test(word) || topicsOf(word) !== '' ? PRODUCT_WEIGHT : WORD_WEIGHT),
    })),
    names: [...names],
    name: q.trim().toLowerCase(),
    isEmpty: words.length + names.size === 0,
    isFree,
  };
}

/** Removes words, unless none would remain. */
function without(words: readonly string[], isRemoved: (word: string) => boolean): readonly string[] {
  const left = words.filter((word) => !isRemoved(word));
  return left.length > 0 ? left : words;
}

/** Returns the stem of a word, and the word joined with its neighbors: `github` for `git hub`. */
function freeFormsOf(word: string, typed: readonly string[]): readonly Form[] {
  const joined = typed.flatMap((each, at) => {
    const next = typed[at + 1];
    return next !== undefined && (each === word || next === word) ? [each + next] : [];
  });
  return [stemOf(word), ...joined]
    .filter((text) => text !== word && text.length >= MIN_STEM)
    .map((text) => ({ text, worst: BEGINS }));
}

/** Whether a character of a folded text belongs to a word. */
function isInWord(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  if (code < 128) return (code >= 97 && code <= 122) || (code >= 48 && code <= 57);
  // NaN beyond the text.
  return code >= 128 && IN_WORD.test(text.charAt(at));
}

/** Receives the offset and kind of an occurrence; returns the offset from which to look for a better one, or Infinity. */
type Found = (at: number, occurrence: number, word?: string) => number;

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

/**
 * Works like `findForm`, but finds words that equal the form, or begin with it, except for one letter that is wrong,
 * missing, extra or swapped with its neighbor. They must not be much longer: `postgers` finds `postgresql`, but `slack`
 * does not find `stacklok`. One error leaves the first or the second half of the form intact, so only places where
 * either occurs are compared.
 */
export function findCorrected(text: string, { text: form }: Form, found: Found): void {
  if (form.length < MIN_CORRECTED) return;
  const half = form.length >> 1;
  for (const part of [form.slice(0, half), form.slice(half + 1)])
    for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) {
      let start = at;
      while (start > 0 && at - start <= half + 2 && isInWord(text, start - 1)) start -= 1;
      let end = at;
      while (isInWord(text, end)) end += 1;
      const length = lengthCorrected(text, start, end, form);
      if (length === 0 || end > start + length + half || (start > 0 && isInWord(text, start - 1))) continue;
      const isWhole = start + length === end || (start + length === end - 1 && text[end - 1] === 's');
      if (found(start, isWhole ? WHOLE : BEGINS, text.slice(start, end)) === Infinity) return;
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

/** Returns how many letters of the word at `at` match the form with at most one error, or 0. Prefers the whole word. */
function lengthCorrected(text: string, at: number, end: number, form: string): number {
  const { length } = form;
  if (end - at < length - 1) return 0;
  let same = 0;
  while (same < length && text[at + same] === form[same]) same += 1;
  if (same === length) return length;
  const rest = (fromText: number, fromForm: number) =>
    text.startsWith(form.slice(fromForm), at + fromText) && at + fromText + length - fromForm <= end;
  const lengths = [
    // An extra letter in the form, a missing one, a wrong one, two swapped.
    rest(same, same + 1) ? length - 1 : 0,
    rest(same + 1, same) ? length + 1 : 0,
    rest(same + 1, same + 1) ? length : 0,
    text[at + same] === form[same + 1] && text[at + same + 1] === form[same] && rest(same + 2, same + 2)
      ? length
      : 0,
  ];
  return lengths.find((found) => found > 0 && at + found === end) ?? Math.max(...lengths);
}

/** Whether a text consists of exactly the query's words, in order; fillers do not count if the query has none. */
export function isQuery(text: string, { words, names, isFree }: SearchWords): boolean {
  // Most texts begin with another word, and splitting them would be slower.
  if (names.length > 0 || (!isFree && !words[0]?.forms.some((form) => text.startsWith(form.text))))
    return false;
  const all = wordsIn(text).map(singular);
  const found = isFree ? without(all, (word) => FILLERS.has(word)) : all;
  return (
    (isFree && found.join('') === words.map(({ forms: [typed] }) => typed.text).join('')) ||
    (found.length === words.length &&
      words.every(({ forms }, index) => forms.some((form) => form.text === found[index])))
  );
}
