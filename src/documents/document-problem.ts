/** One thing wrong with a document: where, such as `packages[0].transport.url`, and the rule it breaks, in words. */
export interface Problem {
  readonly path: string;
  readonly message: string;
}

/** How many problems of one document are reported. */
export const MAX_PROBLEMS = 20;
const MAX_PREVIEW = 80;

/** A problem as one sentence. */
export function formatProblem({ path, message }: Problem): string {
  return path === '' ? message : `${path}: ${message}`;
}

/** A value for a message, shortened. */
export function preview(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined';
  return text.length > MAX_PREVIEW ? `${text.slice(0, MAX_PREVIEW - 3)}...` : text;
}

/** The type of a value with its article: "a string", "an array", "null". */
export function typeName(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'an array';
  return withArticle(typeof value);
}

/** A JSON Schema type with its article: "an object". */
export function withArticle(type: string): string {
  return /^[aeio]/.test(type) ? `an ${type}` : `a ${type}`;
}

/** The longest document that is stored, as compact JSON in UTF-8. */
export const MAX_DOCUMENT_BYTES = 1024 * 1024;
/** How deep arrays and objects of a document may be nested. */
export const MAX_DEPTH = 100;
/** How many bytes the publisher's block in `_meta` may have, as compact JSON. */
export const MAX_PUBLISHER_BYTES = 64 * 1024;
/** How many characters each part of a name may have. */
export const MAX_NAME_LENGTH = 255;

/** Overrides and isolates of the direction of text (Unicode UAX #9): with them a text reads other than it is. */
const NO_LINE = /\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u;
const NO_PROSE = /(?![\n\t])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/gu;

/** May this be shown as a title or a name (contract §7)? */
export function isLine(text: string): boolean {
  return !NO_LINE.test(text);
}

/** May this be shown as a description, in which line feeds and tabs may stand (contract §7)? */
export function isProse(text: string): boolean {
  return text.search(NO_PROSE) === -1;
}

/** The text with U+FFFD in place of every character that a description may not hold. */
export function toProse(text: string): string {
  return text.replaceAll(NO_PROSE, '\ufffd');
}
