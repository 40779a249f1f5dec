import { isObject } from '../json/json-values.js';

/** A problem of a claims value; `key` names the invalid member, absent if the whole value is invalid. */
export interface ClaimsIssue {
  readonly key?: string;
  readonly message: string;
}

export const MAX_CLAIMS = 100;
export const MAX_VALUES = 1_000;

/** contract §5: claims that identify a token, not its holder. */
const OF_ONE_TOKEN: readonly string[] = ['jti', 'iat', 'exp', 'nbf'];

// PostgreSQL's jsonb takes neither NUL nor half a surrogate pair.
const UNSTORABLE = /\0|\p{Surrogate}/u;

/**
 * contract §5: claims are strings and flat, non-empty arrays of strings, and never `jti`, `iat`, `exp` or `nbf`. Used for
 * configuration, API and annotations.
 *
 * @returns one issue per invalid member; none if the value is `Claims`.
 */
export function findClaimsIssues(value: unknown): ClaimsIssue[] {
  if (!isPlainMap(value)) return [{ message: 'must be a map of claims' }];
  if (Object.keys(value).length > MAX_CLAIMS)
    return [{ message: `must not have more than ${MAX_CLAIMS} claims` }];
  return Object.entries(value).flatMap(([key, member]) => {
    if (key === '') return [{ key, message: 'a claim must have a name' }];
    // Copying an object with this key would lose it or set its prototype.
    if (key === '__proto__') return [{ key, message: 'is not a valid claim name' }];
    if (UNSTORABLE.test(key)) return [{ key, message: 'has a name with characters that cannot be stored' }];
    if (OF_ONE_TOKEN.includes(key))
      return [{ key, message: 'identifies a token and cannot be used as a claim' }];
    const message = memberIssue(member);
    return message === undefined ? [] : [{ key, message }];
  });
}

/** The issues as sentences that name the member. */
export function claimsProblems(value: unknown): string[] {
  return findClaimsIssues(value).map(({ key, message }) =>
    key === undefined ? message : `${JSON.stringify(key)} ${message}`,
  );
}

/** The problem of one claim's value; undefined if it is valid. */
export function memberIssue(member: unknown): string | undefined {
  const values: unknown[] = Array.isArray(member) ? member : [member];
  if (values.length === 0) return 'must not be an empty list';
  if (values.length > MAX_VALUES) return `must not have more than ${MAX_VALUES} values`;
  if (!values.every((value): value is string => typeof value === 'string'))
    return 'must be a string or a list of strings';
  return values.some((value) => UNSTORABLE.test(value)) ? 'has characters that cannot be stored' : undefined;
}

/**
 * Is this a plain object? A Date or a Map has no own members and would be taken for `{}`, which every caller covers.
 */
export function isPlainMap(value: unknown): value is Record<string, unknown> {
  if (!isObject(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** OpenAPI schema of claims; `findClaimsIssues` is stricter. */
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
