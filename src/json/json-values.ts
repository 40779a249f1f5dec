/** Whether a value of JSON is an object: neither null nor a list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The own member of a value of any type; undefined when there is none. */
export function member(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** The elements of a list; none of anything else. */
export function elements(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

const MAX_LENGTH = 200;

/** Where something is in a document, for people: `packages[0].transport.url`. Numbers are indexes of arrays. */
export function pathOf(parts: readonly (string | number)[]): string {
  const path = parts.reduce<string>((above, part) => {
    if (typeof part === 'number') return `${above}[${part}]`;
    return above === '' ? part : `${above}.${part}`;
  }, '');
  // Keys may be of any length and any number of levels deep.
  return path.length > MAX_LENGTH ? `${path.slice(0, MAX_LENGTH - 3)}...` : path;
}

/** The names of members on the way to a value. */
export type Pointer = readonly string[];

/** Reads a JSON Pointer (RFC 6901 §3, §4); undefined for text that is none. */
export function parsePointer(text: string): Pointer | undefined {
  if (!/^(\/([^~/]|~[01])*)*$/u.test(text)) return undefined;
  return text
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/**
 * The value a pointer leads to, by own members of objects alone; undefined when there is none. Positions in a list are not
 * followed, other than by RFC 6901: what stands there depends on an order that nobody promises.
 */
export function valueAt(value: unknown, pointer: Pointer): unknown {
  return pointer.reduce((found, name) => member(found, name), value);
}
