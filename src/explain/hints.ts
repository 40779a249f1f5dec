import { claimHints } from '../auth/claim-mapping.js';
import { claimText } from '../claims/claims.js';
import type { ProviderConfig } from '../config/config.js';
import { OPTIONAL_STATUSES } from '../documents/statuses.js';
import { isObject, type Pointer } from '../json/json-values.js';
import { withoutRepetitions } from './least-missing.js';
import type { ExplainedMissing, Step } from './steps.js';

const MAX_HINTS = 20;
/** Maximum number of missing values compared with the held claims. */
const MAX_COMPARED = 200;
/** Maximum depth of the search in nested claims. */
const MAX_DEPTH = 4;
const MAX_PATH = 500;
const MAX_QUOTED = 100;

type Held = Readonly<Record<string, unknown>>;

/**
 * A provider, with its claim mapping if any. Tokens from a mapped provider have only the mapped claims (reference/access).
 */
export interface MappedProvider {
  readonly name: string;
  readonly issuerUrl: string;
  readonly claims?: readonly { readonly to: string }[];
}

/**
 * Lists common mistakes in tokens and claims that may explain a refusal (reference/explain). Hints depend only on the
 * caller's claims and the reported steps, so they reveal nothing more.
 */
export function hintsFor(held: Held, steps: readonly Step[]): string[] {
  const missing = steps.flatMap((step) => step.missing ?? []);
  const hints = [
    ...claimHints(held),
    ...Object.keys(held)
      .filter((key) => isTooLarge(held[key]))
      .map(tooLarge),
    ...scopeHint(held, missing),
    ...similarClaims(held, withoutRepetitions(missing).slice(0, MAX_COMPARED)),
    ...steps.flatMap(ofStep),
  ];
  return [...new Set(hints)].slice(0, MAX_HINTS);
}

/** Names the missing claims that are not mapped by any provider with the token's issuer. */
export function providerHints(
  { iss }: Held,
  steps: readonly Step[],
  providers: readonly MappedProvider[],
): string[] {
  const own = providers.filter(({ issuerUrl }) => issuerUrl === iss);
  if (own.length === 0 || own.some(({ claims }) => claims === undefined)) return [];
  const mapped = new Set(['iss', 'sub', ...own.flatMap(({ claims }) => (claims ?? []).map(({ to }) => to))]);
  const keys = new Set(steps.flatMap(({ missing }) => (missing ?? []).map(({ key }) => key)));
  const names = own.map(({ name }) => name).join(', ');
  return [...keys]
    .filter((key) => !mapped.has(key))
    .map((key) => `Tokens from provider ${names} never have ${quoted(key)}: it is not mapped in \`claims\``);
}

/** Claims that describe the token or the person; mappings seldom read them. */
const NOT_FOR_ACCESS: ReadonlySet<string> = new Set(
  (
    'iss sub aud exp nbf iat jti typ azp client_id appid cid ver uti rh ' +
    'auth_time acr amr sid session_state nonce at_hash oid ipaddr ' +
    'name given_name family_name preferred_username email email_verified locale picture'
  ).split(' '),
);
const ONLY_IN_TOKENS = ['aud', 'exp', 'iat', 'realm_access', 'resource_access'];
const MAX_UNMAPPED = 10;

/**
 * Names claims of a token that its provider's mapping does not read, and claims given as mapped that look like a token's.
 *
 * @param token The token, if the question has one.
 * @param providers The providers that the asker may know about.
 */
export function unmappedHints(
  held: Held,
  token: { readonly claims: Held; readonly provider: ProviderConfig } | undefined,
  providers: readonly ProviderConfig[],
): string[] {
  if (!token) {
    const raw = ONLY_IN_TOKENS.filter((name) => Object.hasOwn(held, name));
    if (raw.length === 0 || providers.length === 0 || providers.some(({ claims }) => !claims)) return [];
    return [
      `${raw.map(quoted).join(', ')}: no mapping yields these claims; pass the token's own claims as \`token\``,
    ];
  }
  const { name, claims: rules } = token.provider;
  if (!rules || !providers.includes(token.provider)) return [];
  const read = (path: Pointer) =>
    rules.some((rule) =>
      'from' in rule
        ? rule.from.join('\0') === path.join('\0')
        : Object.hasOwn(rule.when ?? {}, path.join('\0')),
    );
  const unread = leavesOf(token.claims).filter((path) => !NOT_FOR_ACCESS.has(path[0] ?? '') && !read(path));
  if (unread.length === 0) return [];
  const names = unread.slice(0, MAX_UNMAPPED).map((path) => quoted(path.join('.')));
  return [`The mapping of provider ${name} does not read ${names.join(', ')}`];
}

function leavesOf(claims: Held, above: Pointer = []): Pointer[] {
  return Object.entries(claims).flatMap(([name, value]): Pointer[] => {
    const path = [...above, name];
    return isObject(value) && path.length < MAX_DEPTH ? leavesOf(value, path) : [path];
  });
}

function ofStep({ step, outcome, because, source, shadowedBy }: Step): string[] {
  if (step === 'entry' && because === 'unlabeled')
    return [`The entry of source ${source} has no claims: only super-admins see it`];
  if (step === 'gate' && because === 'unlabeled: deny')
    return ['The registry has no claims: with `unlabeled: deny` only super-admins may enter it'];
  if (step === 'shadowing' && outcome === 'refused')
    return [`The entry of source ${source} is shadowed: source ${shadowedBy} comes first`];
  const status = OPTIONAL_STATUSES.find((one) => because === `status: ${one}`);
  if (step === 'version' && status !== undefined)
    return [`The version has the status \`${status}\`: it is shown only with \`include_deleted=true\``];
  return [];
}

// reference/access: numbers beyond 2^53 are rounded.
function isTooLarge(value: unknown): boolean {
  return [value].flat().some((one) => typeof one === 'number' && claimText(one) === undefined);
}

function tooLarge(key: string): string {
  return `The claim ${quoted(key)} has a number that is too large to compare: the provider must send it as a string`;
}

// RFC 8693 §4.2: scopes are a single string, separated by spaces.
function scopeHint({ scope }: Held, missing: readonly { readonly key: string }[]): string[] {
  return typeof scope === 'string' && scope.includes(' ') && missing.some(({ key }) => key === 'scope')
    ? ['The claim "scope" is a single string and is compared as a whole, not scope by scope']
    : [];
}

/** Finds held claims that differ from missing claims only in case, spaces or nesting. */
function similarClaims(held: Held, missing: readonly ExplainedMissing[]): string[] {
  const paths = nestedPaths(held);
  return [...new Set(missing.map(({ key }) => key))].flatMap((key) => {
    const isHeld = Object.hasOwn(held, key);
    const hints: string[] = [];
    const ownKey = Object.keys(held).find((own) => own !== key && lettersOf(own) === lettersOf(key));
    if (ownKey !== undefined)
      hints.push(`${quoted(key)} is required, but the caller has ${quoted(ownKey)}: case matters`);
    const ownValues = byLetters(isHeld ? [held[key]].flat() : []);
    for (const { needs } of missing.filter((one) => one.key === key)) {
      const value = ownValues.get(lettersOf(needs)) ?? needs;
      if (value !== needs)
        hints.push(
          `${quoted(key)} must be ${quoted(needs)}, but the caller has ${quoted(value)}: case and spaces matter`,
        );
    }
    const path = isHeld ? undefined : paths.get(key)?.slice(0, MAX_PATH);
    if (path !== undefined)
      hints.push(`${quoted(key)} is required at the top level, but the caller has it at ${path}`);
    return hints;
  });
}

function byLetters(values: readonly unknown[]): Map<string, string> {
  const texts = values.filter((value) => typeof value === 'string');
  return new Map(texts.map((text) => [lettersOf(text), text]));
}

function lettersOf(text: string): string {
  return text.trim().toLowerCase();
}

/** Maps each key below the top level to its path. */
function nestedPaths(
  held: Held,
  parent = '',
  levels = MAX_DEPTH,
  found = new Map<string, string>(),
): Map<string, string> {
  for (const [name, member] of Object.entries(held)) {
    if (levels === 0 || !isObject(member)) continue;
    for (const key of Object.keys(member)) if (!found.has(key)) found.set(key, `${parent}${name}.${key}`);
    nestedPaths(member, `${parent}${name}.`, levels - 1, found);
  }
  return found;
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, MAX_QUOTED));
}
