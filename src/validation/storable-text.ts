/** Length in UTF-16 units; longer than any name, version, sort key or search text that is stored. */
const MAX_LENGTH = 8_192;
// PostgreSQL's text and jsonb accept no NUL. Jsonb refuses lone surrogates, and text would replace them.
const UNSTORABLE = /\0|\p{Surrogate}/u;
const EVERY_UNSTORABLE = new RegExp(UNSTORABLE, 'gu');

declare const brand: unique symbol;

/**
 * A text that PostgreSQL can store and compare: no NUL, no lone surrogate, at most 8,192 characters. Statements and
 * batches shared by several requests accept callers' input only in this form, so that one input cannot make other
 * requests fail.
 */
export type StorableText = string & { readonly [brand]: true };

export function isStorable(text: string): text is StorableText {
  return text.length <= MAX_LENGTH && !UNSTORABLE.test(text);
}

/** Replaces NUL and lone surrogates with U+FFFD, and truncates long text. */
export function toStorable(text: string, maxLength = MAX_LENGTH): StorableText {
  // Truncating first may split a surrogate pair; the remaining half is then replaced.
  return text.slice(0, maxLength).replaceAll(EVERY_UNSTORABLE, '\uFFFD') as StorableText;
}

const MAX_QUOTED = 200;

/** Quotes the words of another server: one line of printable text, at most 200 characters. */
export function serverSaid(words: string): string {
  // Cc: control characters; Cf: invisible ones, such as those that change the direction of text.
  const line = words.slice(0, 2 * MAX_QUOTED).replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Surrogate}\s]+/gu, ' ');
  return `the server said: ${toStorable(line.trim(), MAX_QUOTED)}`;
}
