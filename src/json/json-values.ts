/** Whether a JSON value is an object: neither null nor a list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns an own member of an object; undefined for any other value. */
export function member(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** Returns an own member of an object if it is text. */
export function textMember(value: unknown, key: string): string | undefined {
  const text = member(value, key);
  return typeof text === 'string' ? text : undefined;
}

/** Returns the elements of a list; an empty list for any other value. */
export function elements(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

const MAX_LENGTH = 200;

/** Formats a path in a document for display: `packages[0].transport.url`. Numbers are array indexes. */
export function pathOf(parts: readonly (string | number)[]): string {
  const path = parts.reduce<string>((above, part) => {
    if (typeof part === 'number') return `${above}[${part}]`;
    return above === '' ? part : `${above}.${part}`;
  }, '');
  // Keys may be long and deeply nested.
  return path.length > MAX_LENGTH ? `${path.slice(0, MAX_LENGTH - 3)}...` : path;
}

/** The member names that lead to a value. */
export type Pointer = readonly string[];

/** Parses a JSON Pointer (RFC 6901 §3, §4); undefined for other text. */
export function parsePointer(text: string): Pointer | undefined {
  if (!/^(\/([^~/]|~[01])*)*$/u.test(text)) return undefined;
  return text
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/**
 * Resolves a pointer through own members of objects; undefined if a member is missing. Unlike RFC 6901, list positions
 * are not followed, because the order of lists in tokens is not guaranteed.
 */
export function valueAt(value: unknown, pointer: Pointer): unknown {
  return pointer.reduce((found, name) => member(found, name), value);
}
