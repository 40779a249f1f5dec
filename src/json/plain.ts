import { isObject } from './json-values.js';

/** Plain, deeply read-only data; members that may be undefined are optional. */
export type Plain<T> =
  T extends ReadonlyMap<unknown, unknown>
    ? T
    : T extends readonly (infer E)[]
      ? readonly Plain<E>[]
      : T extends object
        ? { readonly [K in keyof T as undefined extends T[K] ? never : K]: Plain<T[K]> } & {
            readonly [K in keyof T as undefined extends T[K] ? K : never]?: Plain<Exclude<T[K], undefined>>;
          }
        : T;

/** Converts class instances to plain data without undefined members, so that equal settings are deeply equal. */
export function plain<T>(value: T): Plain<T> {
  return copy(value) as Plain<T>;
}

function copy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copy);
  if (!isObject(value) || value instanceof Map) return value;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(members.map(([key, member]) => [key, copy(member)]));
}

/** Deeply freezes plain data in place. */
export function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const member of Object.values(value)) freeze(member);
  return Object.freeze(value);
}
