import type { ArrayValues, Claims } from '../../claims/claims.js';

/** Claims that are asked for, and how arrays among them are read. */
export interface Condition {
  readonly required: Claims;
  readonly arrays: ArrayValues;
}

/** Values that a sentence names of one array; of more it gives the number. */
const MAX_NAMED = 20;

/** contract §10: who fulfils all of these, in one sentence: `org is acme and team is both platform and data`. */
export function sentenceOf(conditions: readonly Condition[]): string {
  const clauses = conditions.flatMap(({ required, arrays }) =>
    Object.entries(required).map(([key, wanted]) => `${key} is ${valuesOf([wanted].flat(), arrays)}`),
  );
  return [...new Set(clauses)].join(' and ');
}

/**
 * The claims that who holds them fulfils both, in the words of a resource: of arrays that are read as `any` those values that
 * fulfil both.
 *
 * @returns undefined where no claims say it, for want of such a value.
 */
export function bothOf(one: Claims, other: Claims, arrays: ArrayValues): Claims | undefined {
  const joined = new Map<string, string | readonly string[]>(Object.entries(one));
  for (const [key, wanted] of Object.entries(other)) {
    const before = joined.get(key);
    if (before === undefined) {
      joined.set(key, wanted);
      continue;
    }
    const [held, more] = [[before].flat(), new Set([wanted].flat())];
    const values =
      arrays === 'all' ? [...new Set([...held, ...more])] : held.filter((value) => more.has(value));
    const [first] = values;
    if (first === undefined) return undefined;
    joined.set(key, values.length === 1 ? first : values);
  }
  return Object.fromEntries(joined);
}

function valuesOf(values: readonly string[], arrays: ArrayValues): string {
  const named = [...new Set(values)];
  if (named.length > MAX_NAMED) return `${arrays === 'all' ? 'all' : 'one'} of ${named.length} values`;
  const [first = ''] = named;
  if (named.length === 1) return first;
  const list = `${named.slice(0, -1).join(', ')} ${arrays === 'all' ? 'and' : 'or'} ${named.at(-1) ?? ''}`;
  if (arrays === 'any') return list;
  return named.length === 2 ? `both ${list}` : `all of ${list}`;
}
