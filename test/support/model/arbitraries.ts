import fc from 'fast-check';
import { aHeldLabel, aLabel, aMapping, KEYS, someClaims, someHeld } from './claims-arbitraries.js';
import {
  type Entry,
  type Held,
  MAPPED,
  type Question,
  type Registry,
  type Role,
  ROLES,
  type Setting,
  type Source,
  type ModelState,
} from './model.js';

const ENTRY_NAMES = ['io.acme/beta', 'io.acme/alpha-2', 'io.acme/alpha', 'Io.acme/zeta'];
const SOURCE_NAMES = ['one', 'two', 'three'];
const REGISTRY_NAMES = ['main', 'other', 'back'];
/** Newest first. */
const VERSIONS = ['2.0.0', 'v2.0.0', 'v1.10.0', '1.9.0'];
const STATUSES = ['active', 'deprecated', 'deleted'];
const NOWHERE = 'nowhere';
const NO_ENTRY = 'io.acme/nowhere';
const CALLERS = 3;
const QUESTIONS = 6;

export interface Asked {
  readonly state: ModelState;
  readonly questions: readonly Question[];
}

const someRules = fc.array(aLabel, { minLength: 1, maxLength: 2 });
const someRoles = fc.record<Setting['roles']>(
  {
    superAdmin: someRules,
    manageSources: someRules,
    manageRegistries: someRules,
    manageEntries: someRules,
  },
  { noNullPrototype: true },
);

/**
 * Both modes without authorization, and full mode with every combination of policies, each with separate
 * roles.
 */
export function settings(seed: number): Setting[] {
  const roles = fc.sample(someRoles, { seed, numRuns: 8 });
  const mappings = fc.sample(fc.array(aMapping, { minLength: MAPPED.length, maxLength: MAPPED.length }), {
    seed,
    numRuns: 10,
  });
  const [first] = roles;
  if (!first) throw new Error('No roles were drawn');
  const policies = (['all', 'any'] as const).flatMap((arrayValues) =>
    (['allow', 'deny'] as const).flatMap((unlabeled) =>
      (['managers', 'readers'] as const).map((registryListing) => ({
        arrayValues,
        unlabeled,
        registryListing,
      })),
    ),
  );
  const plain = {
    arrayValues: 'all',
    unlabeled: 'allow',
    registryListing: 'managers',
    roles: first,
  } as const;
  const drawn = [
    { mode: 'anonymous' as const, ...plain },
    { mode: 'auth-only' as const, ...plain },
    ...policies.map((policy, index) => ({
      mode: 'full' as const,
      ...policy,
      roles: roles[index] ?? first,
    })),
  ];
  return drawn.map((setting, index) => ({
    ...setting,
    adminOpenAccess: index % 3 !== 0,
    mappings: mappings[index] ?? [],
  }));
}

const anOrigin = fc.constantFrom('config' as const, 'api' as const);
const anEntry: fc.Arbitrary<Entry> = fc.record({
  type: fc.constantFrom('server' as const, 'skill' as const),
  name: fc.constantFrom(...ENTRY_NAMES),
  claims: someClaims,
  versions: fc
    .record({
      versions: fc.subarray(VERSIONS, { minLength: 1 }),
      statuses: fc.array(fc.constantFrom(...STATUSES), { minLength: 4, maxLength: 4 }),
    })
    .map(({ versions, statuses }) =>
      versions.map((version, index) => ({ version, status: statuses[index] ?? 'active' })),
    ),
});
const someSources: fc.Arbitrary<Source[]> = fc
  .array(
    fc.record({
      kind: fc.constantFrom('file' as const, 'managed' as const),
      origin: anOrigin,
      claims: someClaims,
      entries: fc.uniqueArray(anEntry, { maxLength: 5, selector: ({ type, name }) => `${type} ${name}` }),
    }),
    { minLength: 1, maxLength: SOURCE_NAMES.length },
  )
  .map((sources) => {
    const managed = sources.findIndex(({ kind }) => kind === 'managed');
    return sources.map((source, index) => {
      const kind = index === managed ? ('managed' as const) : ('file' as const);
      // reference/access: every entry of a synced source carries the source's claims.
      const entries = source.entries.map((entry) => ({
        ...entry,
        claims: kind === 'file' ? source.claims : entry.claims,
      }));
      return { ...source, name: SOURCE_NAMES[index] ?? '', kind, entries };
    });
  });
const someRegistries: fc.Arbitrary<Registry[]> = fc
  .array(
    fc.record({
      origin: anOrigin,
      // Bias toward open gates: a closed one leaves little to compare.
      claims: fc.oneof(fc.constant({}), someClaims),
      anonymous: fc.option(aHeldLabel, { freq: 2 }),
      key: fc.option(aHeldLabel, { freq: 2 }),
      sources: fc.shuffledSubarray(SOURCE_NAMES),
    }),
    { minLength: 1, maxLength: REGISTRY_NAMES.length },
  )
  .map((registries) =>
    registries.map((registry, index) => ({ ...registry, name: REGISTRY_NAMES[index] ?? '' })),
  );

/** A question generated before its state: the numbers pick existing targets and sometimes missing ones. */
const aDraft = fc.record({
  by: fc.nat(CALLERS),
  ask: fc.oneof(
    ...weighted({
      list: 6,
      versions: 3,
      version: 4,
      source: 2,
      'source entries': 3,
      registry: 2,
      'registry entries': 3,
      me: 1,
      registries: 3,
      'admin sources': 2,
      'admin registries': 2,
    }),
  ),
  of: fc.nat(11),
  type: fc.constantFrom('server' as const, 'skill' as const),
  name: fc.nat(11),
  version: fc.constantFrom('latest', ...VERSIONS),
  deleted: fc.boolean(),
  key: fc.option(fc.constantFrom('right' as const, 'right' as const, 'wrong' as const), { freq: 2 }),
  byTool: fc.constantFrom(false, false, true),
});
type Draft = typeof aDraft extends fc.Arbitrary<infer T> ? T : never;

function weighted<T extends string>(
  weights: Record<T, number>,
): { weight: number; arbitrary: fc.Arbitrary<T> }[] {
  const asks = Object.keys(weights) as T[];
  return asks.map((ask) => ({ weight: weights[ask], arbitrary: fc.constant(ask) }));
}

function questionFrom(
  { ask, of, name, ...draft }: Draft,
  { sources, registries, callers }: ModelState,
): Question {
  const by = draft.by % callers.length;
  const pick = (at: number, names: readonly string[], none = NOWHERE) =>
    at === 11 ? none : (names[at % names.length] ?? none);
  const registry = pick(
    of,
    registries.map((known) => known.name),
  );
  switch (ask) {
    case 'source':
    case 'source entries':
      return {
        by,
        ask,
        of: pick(
          of,
          sources.map((known) => known.name),
        ),
      };
    case 'registry':
    case 'registry entries':
      return { by, ask, of: registry };
    case 'list':
    case 'versions':
    case 'version': {
      const entries = sources.flatMap((source) => source.entries).filter(({ type }) => type === draft.type);
      return {
        ask,
        of: registry,
        name: pick(
          name,
          entries.map((entry) => entry.name),
          NO_ENTRY,
        ),
        ...draft,
        by,
      };
    }
    default:
      return { by, ask };
  }
}

const someActs: fc.Arbitrary<Role[]> = fc.oneof(
  { weight: 5, arbitrary: fc.subarray(ROLES.filter((role) => role !== 'superAdmin')) },
  { weight: 1, arbitrary: fc.constant<Role[]>(['superAdmin']) },
);

/** A state under one of the settings, and its callers' questions. */
export function aModelState(all: readonly Setting[]): fc.Arbitrary<Asked> {
  return fc
    .record({
      setting: fc.constantFrom(...all),
      sources: someSources,
      registries: someRegistries,
      callers: fc.array(fc.record({ held: fc.option(someHeld, { freq: 6 }), acts: someActs }), {
        minLength: 1,
        maxLength: CALLERS,
        size: 'max',
      }),
      twin: fc.option(fc.constantFrom(...KEYS)),
      drafts: fc.array(aDraft, { minLength: 1, maxLength: QUESTIONS, size: 'max' }),
    })
    .map(({ setting, sources, registries, callers, twin, drafts }) => {
      const named = new Set(sources.map(({ name }) => name));
      const state = {
        setting,
        sources,
        registries: registries.map((registry) => {
          return { ...registry, sources: registry.sources.filter((name) => named.has(name)) };
        }),
        callers: withTwin(
          callers.map(({ held, acts }) => held && acting(held, setting, acts)),
          twin,
        ),
      };
      return { state, questions: drafts.map((draft) => questionFrom(draft, state)) };
    });
}

/** Adds a caller whose claims differ from the first's only in spelling: caches must not confuse them. */
function withTwin(callers: (Held | null)[], key: string | null): (Held | null)[] {
  const [first] = callers;
  if (key === null || !first || !Object.hasOwn(first, key)) return callers;
  return [...callers, { ...first, [key]: String(first[key]) }];
}

// If claims and rules were independent, they would rarely match, and most callers would have no role.
function acting(held: Held, { roles }: Setting, acts: readonly Role[]): Held {
  const claims: Record<string, unknown> = { ...held };
  for (const role of acts)
    for (const [key, wanted] of Object.entries(roles[role][0] ?? {})) {
      const value = [wanted].flat()[0];
      claims[key] = Object.hasOwn(claims, key) ? [claims[key], value].flat() : value;
    }
  return claims;
}
