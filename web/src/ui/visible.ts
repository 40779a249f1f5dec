/** Longest text that is put on the page whole; what is longer is of no use to a reader, and slow to lay out. */
const LONGEST = 4_000;

// Controls but for line feed and tab, marks and overrides of direction, zero-width characters, line separators.
const INVISIBLE =
  /(?![\n\t])[\p{Cc}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu;

/**
 * A text with what cannot be seen written out, as `[U+202E]`: nothing in it may reorder, hide or imitate what stands around it.
 * A joiner between two visible characters stays, as scripts and emoji need it.
 */
export function visible(text: string): string {
  const shown =
    text.length > LONGEST
      ? `${text.slice(0, LONGEST)}… (${text.length.toLocaleString('en')} characters)`
      : text;
  return shown.replaceAll(INVISIBLE, (character, position: number) =>
    isJoiner(character) && position > 0 && position < shown.length - 1 ? character : written(character),
  );
}

function isJoiner(character: string): boolean {
  return character === '\u200c' || character === '\u200d';
}

function written(character: string): string {
  return `[U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}]`;
}
