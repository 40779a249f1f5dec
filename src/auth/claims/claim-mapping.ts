import { MAX_VALUES } from '../../claims/claim-rules.js';
import { type Claims, claimText, covers } from '../../claims/claims.js';
import type { ClaimRule } from '../../config/auth-settings.dto.js';
import { valueAt } from '../../json/json-values.js';

/** Claims that always stay: who the caller is, and who says so. */
const KEPT = ['iss', 'sub'] as const;
/** Of a list in a token, whatever becomes of them. */
const MAX_ELEMENTS = 10_000;

/** The token is good, and what it says of its holder can't be had whole: part of it would open and close the wrong things. */
export class ClaimsIncomplete extends Error {
  override readonly name = 'ClaimsIncomplete';

  /** @param why `incomplete`, or that whoever has them does not answer, or that this client asks too much. */
  constructor(
    message: string,
    readonly why: 'incomplete' | 'unavailable' | 'limited' = 'incomplete',
  ) {
    super(message);
  }
}

/**
 * The claims that a provider's rules make of those of a verified token (contract §5): `iss` and `sub`, and what is mapped.
 * Rules with the same `to` add up. Values become texts, by which they are compared; several of one key are a list.
 *
 * Fails closed: a value that is no string, number, boolean or flat list of them is dropped, and one that `values` does not
 * list.
 *
 * @throws ClaimsIncomplete when there are more values than a claim may have.
 */
export function mapClaims(
  token: Readonly<Record<string, unknown>>,
  rules: readonly ClaimRule[],
): Record<string, unknown> {
  const mapped = new Map<string, Set<string>>();
  for (const rule of rules) {
    const held = mapped.get(rule.to) ?? new Set();
    for (const value of 'from' in rule ? translated(token, rule) : constant(token, rule)) held.add(value);
    if (held.size > 0) mapped.set(rule.to, held);
  }
  const members = [...mapped].map(([key, values]): [string, Claims[string]] => {
    if (values.size > MAX_VALUES)
      throw new ClaimsIncomplete(`${key} would have more than ${MAX_VALUES} values`);
    const [first = '', ...more] = values;
    return [key, more.length === 0 ? first : [first, ...more]];
  });
  const kept = KEPT.filter((key) => Object.hasOwn(token, key)).map((key): [string, unknown] => [
    key,
    token[key],
  ]);
  return Object.fromEntries([...kept, ...members]);
}

/** Do these rules look at this claim of a token? Without rules every claim counts. */
export function readsClaim(rules: readonly ClaimRule[] | undefined, name: string): boolean {
  if (!rules) return true;
  return rules.some((rule) =>
    'from' in rule ? rule.from[0] === name : rule.when !== null && Object.hasOwn(rule.when, name),
  );
}

function translated(
  token: Readonly<Record<string, unknown>>,
  { from, to, values }: Extract<ClaimRule, { from: unknown }>,
): string[] {
  const found = valueAt(token, from);
  const elements: unknown[] = Array.isArray(found) ? found : [found];
  if (elements.length > MAX_ELEMENTS)
    throw new ClaimsIncomplete(`${to} would be made of more than ${MAX_ELEMENTS} values`);
  if (!elements.every((element) => ['string', 'number', 'boolean'].includes(typeof element))) return [];
  return elements
    .flatMap((element) => claimText(element) ?? [])
    .flatMap((text) => (values === null ? text : (values.get(text) ?? [])));
}

function constant(
  token: Readonly<Record<string, unknown>>,
  { value, when }: Extract<ClaimRule, { value: unknown }>,
): string[] {
  return when === null || covers(token, when, 'all') ? [value] : [];
}
