import { Logger } from '@nestjs/common';
import { MAX_VALUES } from '../claims/claim-rules.js';
import { type Claims, claimText, covers } from '../claims/claims.js';
import type { ClaimRule } from '../config/auth-settings.dto.js';
import { isObject, valueAt } from '../json/json-values.js';
import type { Caller } from './caller.js';

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

/** Each of them is about the configuration of a provider, and stays as it is until somebody changes that. */
const REPEAT_MS = 10 * 60_000;
const MAX_REMEMBERED = 100;
/** Refusals that other claims would have turned into something else. */
const FOR_CLAIMS: ReadonlySet<string> = new Set(['role_required', 'registry_forbidden', 'claims_not_subset']);

/**
 * What is known of tokens whose roles or groups are where no rule can see them, since rules compare claims at the top level
 * (contract §5). Keycloak nests roles; Entra ID leaves groups out of the token when there are many, and says so by
 * `_claim_names` or `hasgroups`: https://learn.microsoft.com/en-us/entra/identity-platform/access-token-claims-reference.
 */
const SHAPES: readonly { readonly shows: (claims: Caller['claims']) => boolean; readonly hint: string }[] = [
  {
    shows: ({ realm_access: realm, resource_access: resource }) => isObject(realm) || isObject(resource),
    hint:
      'The tokens hold roles nested in realm_access or resource_access, as Keycloak writes them; rules compare claims at the ' +
      'top level alone: map them with `claims` of the provider, or let it write the roles into a claim of their own',
  },
  {
    shows: ({ _claim_names: elsewhere, hasgroups }) =>
      (isObject(elsewhere) && Object.hasOwn(elsewhere, 'groups')) ||
      [true, 'true'].includes(hasgroups as never),
    hint:
      'The tokens leave the groups out because there are too many (_claim_names, hasgroups), as Entra ID does; rules see none of ' +
      'them: say where they are with `groups` of the provider, let it write only those that are assigned to this application, or use ' +
      'app roles',
  },
];

/** The hints that the claims of a refused caller give. */
export function claimHints(claims: Caller['claims']): string[] {
  return SHAPES.filter(({ shows }) => shows(claims)).map(({ hint }) => hint);
}

/** Says in the log what is known of refused tokens: once for each issuer and hint, and again after a while. */
export class ClaimHints {
  private readonly logger = new Logger('auth');
  private readonly told = new Map<string, number>();

  /** @param code of the refusal. */
  refused(caller: Caller, code: string, requestId: string): void {
    if (!caller.identified || !FOR_CLAIMS.has(code)) return;
    for (const hint of claimHints(caller.claims)) {
      const issuer = String(caller.claims['iss']);
      if (this.isDue(`${issuer} ${hint}`)) this.logger.warn({ requestId, issuer, code }, hint);
    }
  }

  private isDue(key: string): boolean {
    const now = performance.now();
    if (now - (this.told.get(key) ?? -Infinity) < REPEAT_MS) return false;
    if (this.told.size >= MAX_REMEMBERED) this.told.clear();
    this.told.set(key, now);
    return true;
  }
}
