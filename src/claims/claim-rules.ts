import { isObject } from '../json/json-values.js';

/** Something that keeps a value from being claims; `key` is the member at fault, absent when it is the value itself. */
export interface ClaimsIssue {
  readonly key?: string;
  readonly message: string;
}

export const MAX_CLAIMS = 100;
export const MAX_VALUES = 1_000;

/** contract §5: they tell one token from another, and say nothing of its holder. */
const OF_ONE_TOKEN: readonly string[] = ['jti', 'iat', 'exp', 'nbf'];

// PostgreSQL's jsonb takes neither NUL nor half a surrogate pair.
const UNSTORABLE = /\0|\p{Surrogate}/u;

/**
 * contract §5: strings and flat, non-empty arrays of strings are claims, anything else is refused at every door
 * (configuration, API, annotation), and so are `jti`, `iat`, `exp` and `nbf`.
 *
 * @returns one issue per member that is wrong; empty when the value is `Claims`.
 */
export function findClaimsIssues(value: unknown): ClaimsIssue[] {
  if (!isPlainMap(value)) return [{ message: 'must be a map of claims' }];
  if (Object.keys(value).length > MAX_CLAIMS)
    return [{ message: `must not hold more than ${MAX_CLAIMS} claims` }];
  return Object.entries(value).flatMap(([key, member]) => {
    if (key === '') return [{ key, message: 'a claim must have a name' }];
    // Too easily lost, or worse, on the way through code that copies objects.
    if (key === '__proto__') return [{ key, message: 'is not a possible name of a claim' }];
    if (UNSTORABLE.test(key)) return [{ key, message: 'the name holds characters that cannot be stored' }];
    if (OF_ONE_TOKEN.includes(key))
      return [{ key, message: 'is about one token alone and never a claim of anything else' }];
    const message = memberIssue(member);
    return message === undefined ? [] : [{ key, message }];
  });
}

/** The same as sentences that name the member, for answers to a client. */
export function claimsProblems(value: unknown): string[] {
  return findClaimsIssues(value).map(({ key, message }) =>
    key === undefined ? message : `${JSON.stringify(key)} ${message}`,
  );
}

/** What is wrong with the value of one claim; undefined for what may be one. */
export function memberIssue(member: unknown): string | undefined {
  const values: unknown[] = Array.isArray(member) ? member : [member];
  if (values.length === 0) return 'must not be an empty list';
  if (values.length > MAX_VALUES) return `must not have more than ${MAX_VALUES} values`;
  if (!values.every((value): value is string => typeof value === 'string'))
    return 'must be a string or a list of strings';
  return values.some((value) => UNSTORABLE.test(value))
    ? 'holds characters that cannot be stored'
    : undefined;
}

/**
 * Is this a map, and nothing else? A Date or a Map has no members of its own: taken for a map it would be `{}`, which everybody covers.
 */
export function isPlainMap(value: unknown): value is Record<string, unknown> {
  if (!isObject(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Claims of a source, registry or entry, as OpenAPI shows them. Their rules are stricter: see `findClaimsIssues`. */
export const CLAIMS_SCHEMA = {
  type: 'object' as const,
  additionalProperties: {
    oneOf: [
      { type: 'string' as const },
      { type: 'array' as const, items: { type: 'string' as const }, minItems: 1 },
    ],
  },
  example: { org: 'acme', team: ['platform'] },
};
