import { isObject } from './is-object.js';

/** The own member of a value of any type; undefined when there is none. */
export function member(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** The elements of a list; none of anything else. */
export function elements(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
