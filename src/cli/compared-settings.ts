import { isDeepStrictEqual } from 'node:util';
import { readsClaim } from '../auth/claim-mapping.js';
import { type Config, oauthInUse, type ProviderConfig, type SourceConfig } from '../config/config.js';
import { parseExpiry } from '../config/registry-keys.js';
import { member } from '../json/json-values.js';
import { KINDS, MANAGED_KIND } from '../source-kinds/kinds.js';
import { type ComparedCaller, mayRequireAnyClaim, type ProviderPair } from './compared-callers.js';
import type { OfflineAccess } from './offline-access.js';

/** One change in somebody's access. */
export interface Change {
  readonly who: string;
  /** What is gained or lost; `both` if it could be either. A note reports no change in access. */
  readonly effect: 'gain' | 'loss' | 'both' | 'note';
  readonly what: string;
  /** A caller whose access changes; absent if a token alone cannot show the change. */
  readonly witness?: ComparedCaller;
}

/** Returns the changes caused by settings as a whole, which comparing single tokens does not show. */
export function changesOfSettings(
  before: OfflineAccess,
  after: OfflineAccess,
  providers: readonly ProviderPair[],
): Change[] {
  return [
    ...providers.flatMap(providerChanges),
    ...([before, after].some(({ config }) => mayRequireAnyClaim(config))
      ? providers.flatMap(mappingChanges)
      : []),
    ...settingChanges(before.config, after.config),
    ...keyChanges(before.config, after.config),
    ...sourceChanges(before, after),
  ];
}

/** A change whose effect on access cannot be known. */
export function uncompared(what: string): Change {
  return { who: 'not compared', effect: 'both', what };
}

/** Pairs providers that verify the same tokens, then those with the same name. */
export function pairsOf(old: Config, config: Config): ProviderPair[] {
  const [from, to] = [old, config].map(({ auth }) => [...(oauthInUse(auth)?.providers ?? [])]);
  const pairs: ProviderPair[] = [];
  const pair = (isSame: (one: ProviderConfig, other: ProviderConfig) => boolean) => {
    for (const before of [...(from ?? [])]) {
      const after = to?.find((other) => isSame(before, other));
      if (!after) continue;
      pairs.push({ before, after });
      from?.splice(from.indexOf(before), 1);
      to?.splice(to.indexOf(after), 1);
    }
  };
  pair((one, other) => isDeepStrictEqual(trustOf(one), trustOf(other)));
  pair((one, other) => one.name === other.name);
  return [
    ...pairs,
    ...(from ?? []).map((before) => ({ before, after: undefined })),
    ...(to ?? []).map((after) => ({ before: undefined, after })),
  ];
}

/** The settings that decide which tokens are trusted. */
function trustOf(provider: ProviderConfig) {
  const { issuerUrl, audience, jwksUrl, introspectionUrl, clientId, caCert } = provider;
  return { issuerUrl, audience, jwksUrl, introspectionUrl, clientId, caCert };
}

// Changes that comparing tokens does not show: which tokens are trusted, and for how long.
function providerChanges({ before, after }: ProviderPair): Change[] {
  if (!before || !after) return [];
  const found: Change[] = [];
  const add = (effect: Change['effect'], what: string) =>
    found.push({ who: `provider ${after.name}`, effect, what });
  const [one, other] = [trustOf(before), trustOf(after)];
  for (const name of ['issuerUrl', 'audience'] as const)
    if (one[name] !== other[name])
      add('both', `${name} changes from ${one[name]} to ${other[name]}: other tokens are accepted`);
  const keys = (['jwksUrl', 'clientId', 'caCert'] as const).filter((name) => one[name] !== other[name]);
  if (keys.length > 0) add('both', `${keys.join(' and ')} changes: other tokens may be accepted`);
  const [asked, asks] = [one.introspectionUrl, other.introspectionUrl];
  if (asked !== asks)
    add(
      asked === undefined ? 'gain' : asks === undefined ? 'loss' : 'both',
      'introspectionUrl changes: other tokens that no key verifies are accepted',
    );
  if (before.allowPrivateIP !== after.allowPrivateIP)
    add(
      after.allowPrivateIP ? 'gain' : 'loss',
      `allowPrivateIP is now ${after.allowPrivateIP}: tokens are ${after.allowPrivateIP ? 'accepted' : 'refused'} if the provider is at a private address`,
    );
  if (before.introspection !== after.introspection)
    add(
      'both',
      after.introspection === 'always'
        ? 'introspection is now always: only claims of the introspection response count, and tokens that it rejects are refused'
        : 'introspection is no longer always: the claims of a JWT count, and a JWT that introspection rejects is accepted',
    );
  if (before.idTokens !== after.idTokens)
    add(
      after.idTokens === 'accept' ? 'gain' : 'loss',
      `idTokens is now ${after.idTokens}: tokens that look like ID tokens are ${after.idTokens === 'accept' ? 'accepted' : 'refused'}`,
    );
  if (before.tokenPrefix !== after.tokenPrefix)
    add('both', 'tokenPrefix changes: the provider is asked about other opaque tokens');
  const tolerance = after.clockToleranceMs - before.clockToleranceMs;
  if (tolerance !== 0)
    add(
      tolerance > 0 ? 'gain' : 'loss',
      `clockTolerance is now ${after.clockToleranceMs / 1_000} s: expired tokens are accepted for ${Math.abs(tolerance) / 1_000} s ${tolerance > 0 ? 'more' : 'less'}`,
    );
  const [used, uses] = [groupsOf(before), groupsOf(after)];
  if ((before.groups ?? after.groups) && !isDeepStrictEqual(used, uses))
    add(
      used === 'none' ? 'gain' : uses === 'none' ? 'loss' : 'both',
      'groups changes: tokens that omit their groups are judged differently',
    );
  return found;
}

// Entries with claims of their own may require claims that no rule lists.
function mappingChanges({ before, after }: ProviderPair): Change[] {
  if (!before || !after || !before.claims === !after.claims) return [];
  const who = `provider ${after.name}`;
  return after.claims
    ? [{ who, effect: 'loss', what: 'now has a claims mapping: claims that it does not map are dropped' }]
    : [{ who, effect: 'gain', what: 'no longer has a claims mapping: all claims of a token count' }];
}

function groupsOf({ claims, groups }: ProviderConfig) {
  return readsClaim(claims, 'groups') ? (groups ?? 'none') : 'unused';
}

function settingChanges(old: Config, config: Config): Change[] {
  const found: Change[] = [];
  const [was, is] = [oauthInUse(old.auth), oauthInUse(config.auth)];
  const paths = { before: was?.publicPaths ?? [], after: is?.publicPaths ?? [] };
  const who = 'a caller without a token';
  if (was && is) {
    for (const path of paths.after.filter((one) => !paths.before.includes(one)))
      found.push({ who, effect: 'gain', what: `can now request ${path} (publicPaths)` });
    for (const path of paths.before.filter((one) => !paths.after.includes(one)))
      found.push({ who, effect: 'loss', what: `can no longer request ${path} (publicPaths)` });
    found.push(...orderChanges(was.providers, is.providers));
  }
  if (old.rootRegistry !== config.rootRegistry)
    found.push({
      who: 'note',
      effect: 'note',
      what: `the root now serves ${config.rootRegistry ?? 'no registry'} instead of ${old.rootRegistry ?? 'none'}`,
    });
  const limits = ['adminFileRoots', 'adminKubernetesNamespaces', 'adminOpenAccess'] as const;
  for (const name of limits)
    if (!isDeepStrictEqual(old[name], config[name]))
      found.push(uncompared(`${name}, which concerns sources and registries created through the API`));
  return found;
}

// The first provider that accepts a token maps its claims.
function orderChanges(was: readonly ProviderConfig[], is: readonly ProviderConfig[]): Change[] {
  const order = (all: readonly ProviderConfig[], others: readonly ProviderConfig[]) =>
    all
      .filter(({ issuerUrl }) => all.filter((one) => one.issuerUrl === issuerUrl).length > 1)
      .filter(({ name }) => others.some((one) => one.name === name))
      .map(({ name }) => name);
  return isDeepStrictEqual(order(was, is), order(is, was))
    ? []
    : [uncompared('the order of providers with the same issuer, for tokens with the audiences of several')];
}

function keyChanges(old: Config, config: Config): Change[] {
  const end = (expires: string | null) =>
    expires === null ? Infinity : (parseExpiry(expires)?.getTime() ?? 0);
  return config.registries.flatMap(({ name, keys }) => {
    const had = old.registries.find((registry) => registry.name === name)?.keys ?? [];
    return keys.flatMap((key): Change[] => {
      const before = had.find(({ digest }) => digest === key.digest);
      if (!before || end(before.expires) === end(key.expires)) return [];
      // A key that has already expired is compared like any other caller.
      if (Math.min(end(before.expires), end(key.expires)) <= Date.now()) return [];
      return [
        {
          who: `the key ${key.name} of registry ${name}`,
          effect: end(key.expires) > end(before.expires) ? 'gain' : 'loss',
          what: `now expires ${key.expires ?? 'never'} instead of ${before.expires ?? 'never'}`,
        },
      ];
    });
  });
}

// Changes that the available entries do not show.
function sourceChanges(before: OfflineAccess, after: OfflineAccess): Change[] {
  const moved = after.config.sources.flatMap((source) => {
    const was = before.source(source.name);
    const is = after.source(source.name);
    if (!was || !is) return [];
    const isRead = (one: typeof was) => one.entries !== null && !one.isStored;
    if (isRead(was) && isRead(is)) return [];
    const { name, filter } = source;
    const unknown: string[] = [];
    if (was.config.kind !== source.kind || !isDeepStrictEqual(placeOf(was.config), placeOf(source)))
      unknown.push('place');
    const parts =
      was.entries && is.entries ? [was.config.filter?.tags, filter?.tags] : [was.config.filter, filter];
    if (!isDeepStrictEqual(parts[0], parts[1])) unknown.push('filter');
    return unknown.map((what) =>
      uncompared(`the ${what} of source ${name} changes, and its entries are not known yet`),
    );
  });
  const added = after.config.registries.flatMap((registry) => {
    const had = before.registry(registry.name)?.sources ?? [];
    const changed = (some: readonly string[], others: readonly string[], access: OfflineAccess) =>
      some.filter((name) => !others.includes(name) && hasUnknownClaims(access, name));
    return [...changed(registry.sources, had, after), ...changed(had, registry.sources, before)].map((name) =>
      uncompared(`source ${name} of registry ${registry.name}, whose entries have unknown claims`),
    );
  });
  return [
    ...moved,
    ...added,
    ...nameOrderChanges(before.config, after.config),
    ...admissionChanges(before, after),
  ];
}

// Which versions are held, and who reviews them, depends on what is stored and on what upstreams show (reference/admission).
function admissionChanges(before: OfflineAccess, after: OfflineAccess): Change[] {
  return after.config.sources.flatMap(({ name, admission, settings }) => {
    const was = before.source(name)?.config;
    const [reviewed, reviews] = [was?.settings, settings].map((one) => member(one, 'review'));
    return [
      ...(isDeepStrictEqual(was?.admission ?? null, admission)
        ? []
        : [uncompared(`the admission of source ${name}, which decides which versions are served`)]),
      ...(isDeepStrictEqual(reviewed, reviews)
        ? []
        : [uncompared(`managed.review of source ${name}, which decides who approves publications`)]),
    ];
  });
}

// The first rule that matches a name decides, and only one name per pattern is tried.
function nameOrderChanges(old: Config, config: Config): Change[] {
  const [was, is] = [old, config].map((one) => (nameRulesOf(one) ?? []).map((rule) => JSON.stringify(rule)));
  const common = (some: readonly string[] = [], others: readonly string[] = []) =>
    some.filter((rule) => others.includes(rule));
  return isDeepStrictEqual(common(was, is), common(is, was))
    ? []
    : [uncompared('the order of managed.names, for names that several rules match')];
}

function hasUnknownClaims(access: OfflineAccess, name: string): boolean {
  const source = access.source(name);
  return source !== undefined && source.entries === null && !KINDS[source.config.kind].inheritsClaims;
}

/** The settings that decide which entries a source has, apart from the filter. */
function placeOf({ settings }: SourceConfig): Record<string, unknown> {
  const ignored = ['names', 'review', 'auth', 'tokenFile', 'timeout', 'relistInterval'];
  return Object.fromEntries(Object.entries(settings).filter(([name]) => !ignored.includes(name)));
}

/** Returns the rules for names of the managed source; undefined if there is none. */
export function nameRulesOf({ sources }: Pick<Config, 'sources'>) {
  const managed = sources.find((source): source is SourceConfig<'managed'> => source.kind === MANAGED_KIND);
  return managed && (managed.settings.names ?? []);
}
