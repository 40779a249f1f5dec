/** A broken rule: the path of the value, such as `packages[0].transport.url`, and the rule in words. */
export interface DocumentProblem {
  readonly path: string;
  readonly message: string;
}

/** The maximum number of problems reported for one document. */
export const MAX_PROBLEMS = 20;
const MAX_PREVIEW = 80;

export function formatProblem({ path, message }: DocumentProblem): string {
  return path === '' ? message : `${path}: ${message}`;
}

/** Returns a value as JSON for a message, shortened. */
export function preview(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined';
  return text.length > MAX_PREVIEW ? `${text.slice(0, MAX_PREVIEW - 3)}...` : text;
}

/** Returns the type of a value with its article: "a string", "an array", "null". */
export function typeName(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'an array';
  return withArticle(typeof value);
}

/** Returns a JSON Schema type with its article: "an object". */
export function withArticle(type: string): string {
  return /^[aeio]/.test(type) ? `an ${type}` : `a ${type}`;
}

/** The maximum size of a document, as compact JSON in UTF-8. */
export const MAX_DOCUMENT_BYTES = 1024 * 1024;
/** The maximum nesting depth of arrays and objects. */
export const MAX_DEPTH = 100;
/** The maximum number of values, including objects and lists: parsing and checking more would block other requests. */
export const MAX_DOCUMENT_VALUES = 20_000;
/** The maximum number of characters in each part of a name. */
export const MAX_NAME_LENGTH = 255;

/**
 * Characters that make text look different from its content (reference/documents): bidirectional overrides and isolates (Unicode UAX
 * #9); zero-width characters, which hide words from filters; tags and runs of variation selectors, which hide whole
 * sentences from people. A zero-width joiner may only join two emoji, where it shows; a selector of U+E0100–E01EF may only
 * follow a Han character.
 */
const DECEPTIVE =
  '[\\u202a-\\u202e\\u2066-\\u2069\\u200b\\u200c\\u2060-\\u2064\\ufeff\\u{e0000}-\\u{e007f}]|' +
  '(?<!\\p{Script=Han})[\\u{e0100}-\\u{e01ef}]|(?<=[\\ufe00-\\ufe0f\\u{e0100}-\\u{e01ef}])[\\ufe00-\\ufe0f]|' +
  '(?<!\\p{Extended_Pictographic}(?:\\ufe0f|\\p{Emoji_Modifier})?)\\u200d|\\u200d(?!\\p{Extended_Pictographic})';
const NOT_LINE = new RegExp(`\\p{Cc}|${DECEPTIVE}`, 'u');
const NOT_PROSE = new RegExp(`(?![\\n\\t])\\p{Cc}|${DECEPTIVE}`, 'gu');

/** Returns whether text is valid as a title or name (reference/documents). */
export function isLine(text: string): boolean {
  return !NOT_LINE.test(text);
}

/** Returns whether text is valid as a description, which may contain line feeds and tabs (reference/documents). */
export function isProse(text: string): boolean {
  return text.search(NOT_PROSE) === -1;
}

/** Replaces every character not allowed in a description with U+FFFD. */
export function toProse(text: string): string {
  return text.replaceAll(NOT_PROSE, '\ufffd');
}
