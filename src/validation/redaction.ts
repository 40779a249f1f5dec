// What logs, traces, errors and the audit trail show instead of text that may contain a secret.

/** The path segment before a key, possibly percent-encoded. */
const LEADS_TO_KEY = /^(k|%(?:25)*[46]b)$/i;

/** A slash, plain or percent-encoded any number of times; routers split paths only at plain slashes. */
const SLASH = /(\/|%(?:25)*2f)/i;

/** Key characters, possibly percent-encoded; or any other escape, so that its digits do not count as key characters. */
const WORD_OR_ESCAPE =
  /((?:[\w-]|%(?:25)*(?:2d|3\d|4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9a]))+)|%(?:25)*[\da-f]{2}/gi;

const KEY_LENGTH = 43;

/** Writes `{key}` in place of everything in a client's text that could be a registry key. */
export function withoutKeys(text: string): string {
  if (text.length < KEY_LENGTH) return text;
  return text.replaceAll(WORD_OR_ESCAPE, (found, word: string | undefined) =>
    word !== undefined && mayHoldKey(word) ? '{key}' : found,
  );
}

// A key may be attached to other text, as in `/k{key}`. Unlike names of that length, keys mix cases and digits.
function mayHoldKey(word: string): boolean {
  const characters = word.replaceAll(/%(?:25)*(..)/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
  if (characters.length <= KEY_LENGTH) return characters.length === KEY_LENGTH;
  return [/[a-z]/, /[A-Z]/, /\d/].every((kind) => kind.test(characters));
}

/**
 * Replaces registry keys in a path with `{key}`, for logs, traces and errors (reference/access). Also handles misplaced
 * keys, because even unknown paths are logged.
 */
export function pathWithoutKeys(path: string): string {
  const names: string[] = [];
  const parts = path.split(SLASH).map((part, index) => {
    if (index % 2 === 1 || part === '') return part;
    const isBelowRegistry = names.length === 3 || names.at(-3)?.toLowerCase() === 'registry';
    const isHidden = isBelowRegistry && LEADS_TO_KEY.test(names.at(-1) ?? '');
    names.push(part);
    return isHidden ? '{key}' : withoutKeys(part);
  });
  return parts.join('');
}

/**
 * Reduces an http(s) URL to origin and path for errors, logs and the audit trail. A query may contain a secret, and a
 * path may contain a registry key, which becomes `{key}`.
 */
export function withoutQuery(url: string | URL): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathWithoutKeys(pathname)}`;
}

/**
 * Returns the parts of an error that are logged. The others are not, because database errors include statement
 * parameters, which may be personal data.
 */
export function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { type: typeof error };
  const { code } = error as Error & { code?: unknown };
  return {
    type: error.name,
    message: error.message,
    ...(typeof code === 'string' ? { code } : {}),
    stack: error.stack,
    ...(error.cause instanceof Error ? { cause: describeError(error.cause) } : {}),
  };
}
