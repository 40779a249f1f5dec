/** One thing wrong with a document: where, such as `packages[0].transport.url`, and the rule it breaks, in words. */
export interface Problem {
  readonly path: string;
  readonly message: string;
}

/** How many problems of one document are told. */
export const MAX_PROBLEMS = 20;
const MAX_LENGTH = 200;
const MAX_SHOWN = 80;

/** A problem as one sentence. */
export function sentenceOf({ path, message }: Problem): string {
  return path === '' ? message : `${path}: ${message}`;
}

/** Where something is in a document, for people: `packages[0].transport.url`. Numbers are places in arrays. */
export function pathOf(parts: readonly (string | number)[]): string {
  const path = parts.reduce<string>((above, part) => {
    if (typeof part === 'number') return `${above}[${part}]`;
    return above === '' ? part : `${above}.${part}`;
  }, '');
  // Keys may be of any length and any number of levels deep.
  return path.length > MAX_LENGTH ? `${path.slice(0, MAX_LENGTH - 3)}...` : path;
}

/** A value in a message, shortened. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined';
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN - 3)}...` : text;
}

/** What a value was found to be: "a string", "an array", "null". */
export function typeName(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'an array';
  return withArticle(typeof value);
}

/** A JSON Schema type with its article: "an object". */
export function withArticle(type: string): string {
  return /^[aeio]/.test(type) ? `an ${type}` : `a ${type}`;
}
