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
