import { Logger } from '@nestjs/common';
import { type Claims, claimText, covers, MAX_VALUES_PER_CLAIM } from '../claims/claims.js';
import type { ClaimPattern, ClaimRule } from '../config/auth-settings.dto.js';
import { isObject, valueAt } from '../json/json-values.js';
import type { Caller } from './caller.js';

/** Claims copied without mapping. */
const UNMAPPED = ['iss', 'sub'] as const;
/** Longest list of values accepted from a token. */
const MAX_ELEMENTS = 10_000;

/** A valid token whose claims are incomplete. Deciding from a partial list could wrongly grant or deny access. */
export class ClaimsIncomplete extends Error {
  override readonly name = 'ClaimsIncomplete';

  /** @param why `unavailable`: the provider does not respond; `limited`: this client has too many requests in progress. */
  constructor(
    message: string,
    readonly why: 'incomplete' | 'unavailable' | 'limited' = 'incomplete',
  ) {
    super(message);
  }
}

/**
 * Applies a provider's claim rules to a verified token (reference/access). The result contains `iss`, `sub` and the mapped
 * claims, whose values are strings; multiple values of one key become a list. Rules with the same `to` are combined.
 *
 * Fails closed: drops values that are not a string, number, boolean or flat list of scalars, don't fit the `pattern`, or
 * are not listed in `values`.
 *
 * @throws ClaimsIncomplete when a claim would have too many values.
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
    if (values.size > MAX_VALUES_PER_CLAIM)
      throw new ClaimsIncomplete(`${key} would have more than ${MAX_VALUES_PER_CLAIM} values`);
    const [first = '', ...more] = values;
    return [key, more.length === 0 ? first : [first, ...more]];
  });
  const unmapped = UNMAPPED.filter((key) => Object.hasOwn(token, key)).map((key): [string, unknown] => [
    key,
    token[key],
  ]);
  return Object.fromEntries([...unmapped, ...members]);
}

/** Whether the rules read this claim of a token. Without rules, every claim is read. */
export function readsClaim(rules: readonly ClaimRule[] | undefined, name: string): boolean {
  if (!rules) return true;
  return rules.some((rule) =>
    'from' in rule ? rule.from[0] === name : rule.when !== null && Object.hasOwn(rule.when, name),
  );
}

function translated(
  token: Readonly<Record<string, unknown>>,
  { from, pattern, to, values }: Extract<ClaimRule, { from: unknown }>,
): string[] {
  const found = valueAt(token, from);
  const elements: unknown[] = Array.isArray(found) ? found : [found];
  if (elements.length > MAX_ELEMENTS)
    throw new ClaimsIncomplete(`the list for ${to} has more than ${MAX_ELEMENTS} values`);
  if (!elements.every((element) => ['string', 'number', 'boolean'].includes(typeof element))) return [];
  return elements
    .flatMap((element) => claimText(element) ?? [])
    .flatMap((text) => (pattern === null ? text : (matched(text, pattern) ?? [])))
    .flatMap((text) => (values === null ? text : (values.get(text) ?? [])));
}

/** Returns the text that the `*` in a pattern matches: at least one character, no `/` (reference/configuration). */
function matched(text: string, { before, after }: ClaimPattern): string | undefined {
  if (!text.startsWith(before) || !text.endsWith(after)) return undefined;
  const found = text.slice(before.length, text.length - after.length);
  return text.length > before.length + after.length && !found.includes('/') ? found : undefined;
}

function constant(
  token: Readonly<Record<string, unknown>>,
  { value, when }: Extract<ClaimRule, { value: unknown }>,
): string[] {
  return when === null || covers(token, when, 'all') ? [value] : [];
}

/** Hints concern a provider's configuration, which rarely changes. */
const REPEAT_MS = 10 * 60_000;
const MAX_LOGGED_HINTS = 100;
/** Error codes of refusals that depend on the caller's claims. */
const FOR_CLAIMS: ReadonlySet<string> = new Set(['role_required', 'registry_forbidden', 'claims_not_subset']);

/**
 * Token shapes that hide roles or groups from rules, which compare only top-level claims (reference/access). Keycloak nests
 * roles; Entra ID replaces a long list of groups with `_claim_names` or `hasgroups`:
 * https://learn.microsoft.com/en-us/entra/identity-platform/access-token-claims-reference.
 */
const SHAPES: readonly { readonly matches: (claims: Caller['claims']) => boolean; readonly hint: string }[] =
  [
    {
      matches: ({ realm_access: realm, resource_access: resource }) => isObject(realm) || isObject(resource),
      hint:
        'The tokens contain roles nested in realm_access or resource_access (Keycloak), but rules only compare top-level ' +
        "claims: map the roles with the provider's `claims`, or configure it to write them into a separate claim",
    },
    {
      matches: ({ _claim_names: elsewhere, hasgroups }) =>
        (isObject(elsewhere) && Object.hasOwn(elsewhere, 'groups')) ||
        [true, 'true'].includes(hasgroups as never),
      hint:
        'The tokens omit the groups because there are too many (_claim_names or hasgroups, Entra ID), so rules see none: ' +
        "configure the provider's `groups`, let it include only groups assigned to this application, or use app roles",
    },
  ];

/** Hints for the operator about the claims of a refused caller. */
export function claimHints(claims: Caller['claims']): string[] {
  return SHAPES.filter(({ matches }) => matches(claims)).map(({ hint }) => hint);
}

/** Logs hints about refused tokens, each at most once per issuer every REPEAT_MS. */
export class ClaimHints {
  private readonly logger = new Logger('auth');
  private readonly loggedAt = new Map<string, number>();

  /** @param code Error code of the refusal. */
  refused(caller: Caller, code: string, requestId: string): void {
    if (!caller.identified || !FOR_CLAIMS.has(code)) return;
    for (const hint of claimHints(caller.claims)) {
      const issuer = caller.issuer ?? '';
      if (this.isDue(`${issuer} ${hint}`)) this.logger.warn({ requestId, issuer, code }, hint);
    }
  }

  private isDue(key: string): boolean {
    const now = performance.now();
    if (now - (this.loggedAt.get(key) ?? -Infinity) < REPEAT_MS) return false;
    if (this.loggedAt.size >= MAX_LOGGED_HINTS) this.loggedAt.clear();
    this.loggedAt.set(key, now);
    return true;
  }
}
