import { BlockedCallers } from '../auth/oauth-in-force.js';
import { type Caller, type Role, ROLES, UNIDENTIFIED_CALLER } from '../auth/caller.js';
import { ClaimsIncomplete, mapClaims } from '../auth/claim-mapping.js';
import { callerOfClaims } from '../auth/token-claims.js';
import type { Claims } from '../claims/claims.js';
import type { ClaimRule } from '../config/auth-settings.dto.js';
import { type Config, oauthInUse, type ProviderConfig } from '../config/config.js';
import { isExpired } from '../config/registry-keys.js';
import { alternatives, joined } from '../explain/requirements.js';
import type { Pointer } from '../json/json-values.js';
import { KINDS } from '../source-kinds/kinds.js';
import type { OfflineAccess } from './offline-access.js';

/** One value of a token: the value at a JSON Pointer, or an element of the list there. */
export interface RawValue {
  readonly at: Pointer;
  readonly value: string;
}

/** A provider before and after the change; undefined on the side that does not have it. */
export interface ProviderPair {
  readonly before: ProviderConfig | undefined;
  readonly after: ProviderConfig | undefined;
}

/** A caller whose access is compared. */
export type ComparedCaller =
  | { readonly kind: 'token'; readonly provider: ProviderPair; readonly holds: readonly RawValue[] }
  | { readonly kind: 'none' }
  | { readonly kind: 'key'; readonly registry: string; readonly digest: string };

export type Side = keyof ProviderPair;

/** Stands for every value that no rule lists. */
export const OTHER = 'any other value';
const OTHER_WITH_SLASH = 'any other value/with a slash';
const ANY_SUBJECT = 'any other subject';
export const MAX_CALLERS = 5_000;

/**
 * Returns the caller as a server with this configuration identifies them.
 *
 * @param registry the registry that the request reads; null for any other request.
 * @returns null if the server refuses the caller.
 */
export function callerOn(
  { auth, registries }: Pick<Config, 'auth' | 'registries'>,
  side: Side,
  caller: ComparedCaller,
  registry: string | null,
): Caller | null {
  const oauth = oauthInUse(auth);
  const read = registries.find(({ name }) => name === registry);
  switch (caller.kind) {
    case 'none':
      if (!oauth) return UNIDENTIFIED_CALLER;
      return read?.anonymousClaims ? { ...UNIDENTIFIED_CALLER, claims: read.anonymousClaims } : null;
    case 'key': {
      if (!oauth || caller.registry !== registry) return null;
      const key = read?.keys.find((one) => one.digest === caller.digest && !isExpired(one, Date.now()));
      return key ? { ...UNIDENTIFIED_CALLER, claims: key.claims, key: key.name } : null;
    }
    case 'token': {
      if (!oauth) return UNIDENTIFIED_CALLER;
      const provider = caller.provider[side];
      const token = provider && tokenOf(provider, caller.holds);
      if (!token) return null;
      const found = callerOfToken(token, provider);
      return found && new BlockedCallers(oauth.blocked).has(found) ? null : found;
    }
  }
}

function callerOfToken(token: Readonly<Record<string, unknown>>, provider: ProviderConfig): Caller | null {
  const { claims } = provider;
  try {
    return callerOfClaims(token, provider, claims ? mapClaims(token, claims) : token);
  } catch (error) {
    if (error instanceof ClaimsIncomplete) return null;
    throw error;
  }
}

/** Returns the smallest token of a provider with these values; null if no token can have them all. */
export function tokenOf(
  { issuerUrl, audience }: Pick<ProviderConfig, 'issuerUrl' | 'audience'>,
  holds: readonly RawValue[],
): Record<string, unknown> | null {
  const lists = new Map<string, { at: Pointer; values: Set<string> }>();
  const add = ({ at, value }: RawValue) => {
    const list = lists.get(JSON.stringify(at)) ?? { at, values: new Set<string>() };
    lists.set(JSON.stringify(at), { at, values: list.values.add(value) });
  };
  for (const [name, value] of [
    ['iss', issuerUrl],
    ['aud', audience],
  ] as const)
    add({ at: [name], value });
  for (const held of holds) add(held);
  if (!lists.has('["sub"]')) add({ at: ['sub'], value: ANY_SUBJECT });
  const token = Object.create(null) as Record<string, unknown>;
  for (const { at, values } of lists.values()) {
    const isSingle = at.length === 1 && ['iss', 'sub'].includes(at[0] ?? '');
    if ((isSingle && values.size > 1) || !put(token, at, values)) return null;
  }
  return token;
}

// Returns false if one value would have to be both an object and a list.
function put(token: Record<string, unknown>, at: Pointer, values: ReadonlySet<string>): boolean {
  const [name = '', ...below] = at;
  if (below.length > 0) {
    token[name] ??= Object.create(null);
    const inner = token[name];
    return typeof inner === 'object' && !Array.isArray(inner)
      ? put(inner as Record<string, unknown>, below, values)
      : false;
  }
  if (Object.hasOwn(token, name)) return false;
  token[name] = values.size === 1 ? [...values][0] : [...values];
  return true;
}

/**
 * Returns a set of callers that contains an affected one if any caller is affected. A caller's rights depend
 * monotonically on the values in their token. So if two configurations differ for some token, they differ for a
 * smallest token that one of them requires for something or, because sources shadow each other, for the union of two
 * such tokens.
 */
export function callersToCompare(
  before: OfflineAccess,
  after: OfflineAccess,
  providers: readonly ProviderPair[],
): { callers: ComparedCaller[]; isComplete: boolean } {
  const found = new Map<string, ComparedCaller>();
  for (const [name, caller] of named(before, after, providers)) {
    if (found.size > MAX_CALLERS) return { callers: [...found.values()], isComplete: false };
    found.set(name, caller);
  }
  return { callers: [...found.values()], isComplete: true };
}

/** Yields the callers with names that identify duplicates. */
function* named(
  before: OfflineAccess,
  after: OfflineAccess,
  providers: readonly ProviderPair[],
): Generator<[string, ComparedCaller]> {
  yield ['', { kind: 'none' }];
  for (const { config } of [before, after])
    for (const { name: registry, keys } of config.registries)
      for (const { digest } of keys) yield [`${registry} ${digest}`, { kind: 'key', registry, digest }];
  const goals = { before: goalsOf(before), after: goalsOf(after) };
  for (const [position, provider] of providers.entries())
    for (const holds of tokensOf(provider, before, after, goals)) {
      const distinct = new Map(holds.map((held) => [JSON.stringify(held), held]));
      const names = [...distinct.keys()].sort();
      yield [JSON.stringify([position, names]), { kind: 'token', provider, holds: [...distinct.values()] }];
    }
}

function* tokensOf(
  provider: ProviderPair,
  before: OfflineAccess,
  after: OfflineAccess,
  goals: Readonly<Record<Side, readonly Claims[]>>,
): Generator<readonly RawValue[]> {
  const tokens = new Tokens(provider);
  yield [];
  for (const { config } of [before, after])
    for (const { subject } of config.auth.oauth?.blocked ?? []) yield [{ at: ['sub'], value: subject }];
  for (const side of ['before', 'after'] as const)
    for (const goal of goals[side]) yield* tokens.granting(side, goal);
  if (mayRequireAnyClaim(before.config) || mayRequireAnyClaim(after.config)) yield* tokens.mapped();
  for (const [one, other] of shadowingOf(before, after))
    for (const first of tokens.granting('before', one))
      for (const second of tokens.granting('after', other)) yield [...first, ...second];
}

/** Whether a configuration has entries with claims of their own, which are not known in advance. */
export function mayRequireAnyClaim({ sources }: Pick<Config, 'sources'>): boolean {
  return sources.some(({ kind }) => !KINDS[kind].inheritsClaims);
}

/** Returns the smallest claims with which a caller may do each thing. */
function goalsOf(access: OfflineAccess): Claims[] {
  const { config } = access;
  const roles = rolesIn(config);
  const managers = (role: Role, claims: Claims) => joined(roles[role], covering(config, claims));
  const names = config.sources.flatMap(({ settings }) => ('names' in settings ? (settings.names ?? []) : []));
  return [
    {},
    ...ROLES.flatMap((role) => roles[role]),
    ...config.sources.flatMap(({ claims }) => managers('manageSources', claims)),
    ...names.flatMap(({ claims }) => joined(roles.manageEntries, [claims])),
    ...access.managedClaims().flatMap((claims) => managers('manageEntries', claims)),
    ...config.registries.flatMap(({ name, claims: gate, publishClaims }) => {
      const entering = covering(config, gate);
      return [
        ...entering,
        ...joined(roles.manageRegistries, entering),
        ...access.claimsOf(name).flatMap((claims) => joined(entering, covering(config, claims))),
        ...(publishClaims ? joined(joined(roles.manageEntries, entering), [publishClaims]) : []),
      ];
    }),
  ];
}

/** Pairs the claims of entries that have the same name, before and after, with their registry's gate. */
function* shadowingOf(before: OfflineAccess, after: OfflineAccess): Generator<[Claims, Claims]> {
  for (const { name } of before.config.registries) {
    const entries = [...before.entriesIn(name), ...after.entriesIn(name)];
    const sources = new Map<string, Set<string>>();
    for (const { name: entry, source } of entries)
      sources.set(entry, (sources.get(entry) ?? new Set()).add(source));
    const isShared = (entry: string) => (sources.get(entry)?.size ?? 0) > 1;
    const others = seeing(after, name, isShared);
    for (const one of seeing(before, name, isShared)) for (const other of others) yield [one, other];
  }
}

/** Returns the smallest claims with which a caller sees some of these entries in a registry. */
function seeing(access: OfflineAccess, name: string, isCompared: (entry: string) => boolean): Claims[] {
  const { config } = access;
  const gate = config.registries.find((registry) => registry.name === name)?.claims ?? {};
  const compared = access.entriesIn(name).filter((entry) => isCompared(entry.name));
  const distinct = new Map(compared.map(({ claims }) => [JSON.stringify(claims), claims]));
  if (distinct.size === 0) return [];
  const entering = covering(config, gate);
  return [
    ...rolesIn(config).superAdmin,
    ...[...distinct.values()].flatMap((claims) => joined(entering, covering(config, claims))),
  ];
}

function rolesIn({ auth }: Config): Record<Role, Claims[]> {
  const role = (name: Role) => auth.authz?.roles[name].flatMap((rule) => alternatives(rule)) ?? [{}];
  return {
    superAdmin: role('superAdmin'),
    manageSources: role('manageSources'),
    manageRegistries: role('manageRegistries'),
    manageEntries: role('manageEntries'),
  };
}

function covering({ auth }: Config, claims: Claims): Claims[] {
  return auth.authz?.policy.arrayValues === 'any' ? alternatives(claims) : [claims];
}

/** The tokens of one provider, seen through its mapping before and after the change. */
class Tokens {
  private readonly effects = new Map<string, string>();
  /** Values that a constant's `when` requires: they matter beyond the claims that they become. */
  private readonly conditions: ReadonlySet<string>;

  constructor(private readonly provider: ProviderPair) {
    this.conditions = new Set(
      this.rules().flatMap((rule) =>
        'value' in rule ? valuesIn(rule.when ?? {}).map((value) => JSON.stringify(value)) : [],
      ),
    );
  }

  /** Returns the smallest tokens whose mapped claims cover these. */
  granting(side: Side, claims: Claims): RawValue[][] {
    const provider = this.provider[side];
    if (!provider) return [];
    return valuesIn(claims).reduce<RawValue[][]>(
      (tokens, { at: [key = ''], value }) => {
        const yielding = this.withoutTwins(rawValuesFor(provider, key, value));
        return tokens.flatMap((held) => yielding.map((more) => [...held, ...more])).slice(0, MAX_CALLERS);
      },
      [[]],
    );
  }

  /** Returns tokens that differ in their mapped claims, if there are any. */
  mapped(): RawValue[][] {
    const values = this.rules().flatMap((rule): RawValue[][] => {
      if ('value' in rule) return [valuesIn(rule.when ?? {})];
      const { before, after } = rule.pattern ?? { before: '', after: '' };
      return [...(rule.values?.keys() ?? []), OTHER, OTHER_WITH_SLASH].flatMap((value) => [
        [{ at: rule.from, value }],
        [{ at: rule.from, value: `${before}${value}${after}` }],
      ]);
    });
    // All tokens of a provider have the same issuer.
    return this.withoutTwins(values.filter((holds) => !holds.some((held) => isAt(held, 'iss'))));
  }

  private rules(): ClaimRule[] {
    return [...(this.provider.before?.claims ?? []), ...(this.provider.after?.claims ?? [])];
  }

  /** Keeps one of several interchangeable values at the same place, such as the IDs of a team's groups. */
  private withoutTwins(tokens: readonly RawValue[][]): RawValue[][] {
    return [
      ...new Map(
        tokens.map((holds) => {
          const [first, ...others] = holds;
          return [first && others.length === 0 ? this.effectOf(first) : JSON.stringify(holds), holds];
        }),
      ).values(),
    ];
  }

  private effectOf(raw: RawValue): string {
    const text = JSON.stringify(raw);
    const known = this.effects.get(text);
    if (known !== undefined) return known;
    const { before, after } = this.provider;
    const isUnique = [before, after].some((one) => one && !one.claims) || this.conditions.has(text);
    const yields = [before, after].map((one) => {
      const token = one && tokenOf({ issuerUrl: '', audience: '' }, [raw]);
      return token ? mapClaims(token, one.claims ?? []) : null;
    });
    const effect = JSON.stringify([raw.at, isUnique ? raw.value : null, yields]);
    this.effects.set(text, effect);
    return effect;
  }
}

function valuesIn(claims: Claims): RawValue[] {
  return Object.entries(claims).flatMap(([key, values]) =>
    [values].flat().map((value) => ({ at: [key], value })),
  );
}

/** Returns the raw values that become one mapped claim, as alternatives. */
function rawValuesFor(provider: ProviderConfig, key: string, value: string): RawValue[][] {
  const { claims } = provider;
  if (!claims || key === 'iss' || key === 'sub') return given(provider, [{ at: [key], value }]);
  return claims
    .filter(({ to }) => to === key)
    .flatMap((rule) => {
      if ('value' in rule) return rule.value === value ? given(provider, valuesIn(rule.when ?? {})) : [];
      const { before, after } = rule.pattern ?? { before: '', after: '' };
      const texts = rule.values
        ? [...rule.values].flatMap(([text, to]) => (to === value ? [text] : []))
        : [value];
      return texts.flatMap((text) => given(provider, [{ at: rule.from, value: `${before}${text}${after}` }]));
    });
}

// Each token of a provider has its issuer and its audience, and no other issuer.
function given({ issuerUrl, audience }: ProviderConfig, holds: readonly RawValue[]): RawValue[][] {
  if (holds.some((held) => isAt(held, 'iss') && held.value !== issuerUrl)) return [];
  return [holds.filter((held) => !isAt(held, 'iss') && !(isAt(held, 'aud') && held.value === audience))];
}

function isAt({ at }: RawValue, name: string): boolean {
  return at.length === 1 && at[0] === name;
}
