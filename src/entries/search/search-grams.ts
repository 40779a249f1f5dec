/** Stands between the grams of a text; a gram that holds it is left out. The function `search_grams` of the database does the same. */
const SEPARATOR = '\u0001';
/** Looking more of them up costs more than the entries that have all of these and not the text. */
const MAX_ASKED = 6;

/**
 * The letters of a text and every two that follow each other, each once: what its index finds it by. Letters are code points, and
 * white space and punctuation are letters too, so that there is no text that an index of them can't look for.
 */
export function gramsOf(text: string): string {
  const grams = new Set<string>();
  let before = '';
  for (const letter of text) {
    grams.add(letter);
    if (before !== '') grams.add(before + letter);
    before = letter;
  }
  return joined([...grams]);
}

/**
 * Grams that every text has which holds this one: its pairs, of a long text some that lie evenly in it, or its only letter. Null when
 * the index knows none of them.
 */
export function gramsToFind(search: string): string | null {
  const letters = [...search];
  const pairs = letters.slice(1).map((letter, index) => `${letters[index] ?? ''}${letter}`);
  const known = withoutSeparator([...new Set(pairs.length > 0 ? pairs : letters)]);
  const step = Math.max(1, known.length / MAX_ASKED);
  const asked = known.filter((_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step));
  return asked.length > 0 ? joined(asked) : null;
}

function withoutSeparator(grams: readonly string[]): string[] {
  return grams.filter((gram) => !gram.includes(SEPARATOR));
}

function joined(grams: readonly string[]): string {
  return withoutSeparator(grams).join(SEPARATOR);
}
