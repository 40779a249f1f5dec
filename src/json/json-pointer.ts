import { member } from './members.js';

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
