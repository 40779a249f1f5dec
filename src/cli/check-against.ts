import { ROLES, type Caller } from '../auth/caller.js';
import { type Claims, claimText } from '../claims/claims.js';
import { type Config, oauthInUse } from '../config/config.js';
import { isReserved } from '../entries/publish-rules.js';
import { sentenceOf } from '../explain/requirements.js';
import { ApiError } from '../http/errors.js';
import { MANAGED_KIND } from '../source-kinds/kinds.js';
import {
  callerOn,
  callersToCompare,
  type ComparedCaller,
  MAX_CALLERS,
  mayRequireAnyClaim,
  type ProviderPair,
  type Side,
} from './compared-callers.js';
import { type Change, changesOfSettings, nameRulesOf, pairsOf, uncompared } from './compared-settings.js';
import { OfflineAccess, readKnownSources, type ShownNames } from './offline-access.js';

const MAX_LINES = 200;
const MAX_NAMED = 5;
/** Represents every name that matches no rule of `managed.names`. */
const OTHER_NAME = 'any.other/name';

/** Which changes make `check --against` fail (reference/explain). */
export type FailOn = 'none' | 'gain' | 'any';

/**
 * Prints whose access changes from one configuration to another, and how (reference/explain). Returns the exit code: 1
 * if `failOn` lists a change that was found.
 */
export async function checkAgainst(config: Config, old: Config, failOn: FailOn = 'none'): Promise<number> {
  const known = await readKnownSources(config);
  const before = new OfflineAccess(old, await readKnownSources({ ...old, database: config.database }));
  const found = changes(before, new OfflineAccess(config, known));
  const lines = found.map(({ who, what }) => `${who}: ${what}`);
  const more = lines.length > MAX_LINES ? [`and ${lines.length - MAX_LINES} more`] : [];
  const count = (effect: 'gain' | 'loss') =>
    found.filter((change) => change.effect === effect || change.effect === 'both').length;
  const [gains, losses] = [count('gain'), count('loss')];
  const none = gains + losses === 0 ? ['No access changes.'] : [];
  process.stdout.write(`${[...lines.slice(0, MAX_LINES), ...more, ...none].join('\n')}\n`);
  process.stdout.write(`${gains} gain(s), ${losses} loss(es), ${known.origin}\n`);
  return (failOn !== 'none' && gains > 0) || (failOn === 'any' && losses > 0) ? 1 : 0;
}

/**
 * Returns every change in access: first changes to settings that affect everyone, then changes for single callers,
 * starting with the least privileged.
 */
export function changes(before: OfflineAccess, after: OfflineAccess): Change[] {
  const providers = pairsOf(before.config, after.config);
  const { callers, isComplete } = callersToCompare(before, after, providers);
  return [
    ...(isComplete ? [] : [uncompared(`only ${MAX_CALLERS} of the different callers`)]),
    ...changesOfSettings(before, after, providers),
    ...callerChanges(before, after, callers, providers),
  ];
}

/** One change for a caller: the right, as listed in `IMPLIED`, and its description. */
interface Difference {
  readonly right: string;
  readonly effect: 'gain' | 'loss' | 'both';
  readonly what: string;
}

type Rights = Map<string, readonly [gained: string, lost: string]>;

/** Rights that follow from the first one and are not reported separately. */
const IMPLIED: readonly (readonly [right: string, implied: RegExp])[] = [
  ['role superAdmin', /^(?!role superAdmin|accepted)/],
  ['role manageSources', /^(change|source )/],
  ['role manageRegistries', /^(change|list|registry )/],
  ['role manageEntries', /^(change|publish |managed)/],
  ['change', /^publish /],
];

function callerChanges(
  before: OfflineAccess,
  after: OfflineAccess,
  callers: readonly ComparedCaller[],
  providers: readonly ProviderPair[],
): Change[] {
  const rights = new RightsOf(before, after);
  const lists = new ListDifferences(before, after);
  const reported = new Reported();
  const found = [...callers]
    .sort((one, other) => sizeOf(one) - sizeOf(other))
    .flatMap((witness) =>
      withoutImplied([...rights.differences(witness), ...lists.differences(witness)])
        .filter(({ what }) => reported.isNew(witness, what))
        .map(({ effect, what }) => ({ effect, what, witness })),
    );
  // Providers with the same changes share a line.
  const alike = new Map<string, Set<ProviderPair>>();
  const key = ({ what, witness }: Pick<(typeof found)[number], 'what' | 'witness'>) =>
    `${sentence(witness)}: ${what}`;
  for (const change of found)
    if (change.witness.kind === 'token')
      alike.set(key(change), (alike.get(key(change)) ?? new Set()).add(change.witness.provider));
  const byWho = new Map<string, Map<string, Change>>();
  for (const change of found) {
    const sharing = alike.get(key(change)) ?? new Set();
    const who = nameOf(change.witness, [after.config, before.config], sharing, providers.length);
    byWho.set(who, (byWho.get(who) ?? new Map<string, Change>()).set(change.what, { ...change, who }));
  }
  return [...byWho.values()].flatMap((ofWho) => [...ofWho.values()]);
}

function withoutImplied(found: readonly Difference[]): Difference[] {
  const has = (right: string, effect: string) =>
    found.some((one) => one.right === right && one.effect === effect);
  return found.filter(({ right, effect }) => {
    if (effect === 'loss' && right !== 'accepted' && has('accepted', 'loss')) return false;
    return !IMPLIED.some(([stronger, implied]) => has(stronger, effect) && implied.test(right));
  });
}

/** What a caller may do, apart from seeing entries. */
class RightsOf {
  private readonly names: readonly string[];
  private readonly comparesClaims: boolean;

  constructor(
    private readonly before: OfflineAccess,
    private readonly after: OfflineAccess,
  ) {
    const configs = [before.config, after.config];
    this.names = configs.flatMap((config) => nameRulesOf(config)?.flatMap(({ include }) => include) ?? []);
    // Entries with claims of their own may require any claim.
    this.comparesClaims = configs.every(({ auth }) => oauthInUse(auth)) && configs.some(mayRequireAnyClaim);
  }

  differences(witness: ComparedCaller): Difference[] {
    const [had, has] = [this.on(this.before, 'before', witness), this.on(this.after, 'after', witness)];
    const only = (some: Rights, others: Rights, effect: 'gain' | 'loss'): Difference[] =>
      [...some]
        .filter(([right]) => !others.has(right))
        .map(([right, [gained, lost]]) => ({ right, effect, what: effect === 'gain' ? gained : lost }));
    return [...only(had, has, 'loss'), ...only(has, had, 'gain')];
  }

  private on(access: OfflineAccess, side: Side, witness: ComparedCaller): Rights {
    const rights: Rights = new Map();
    const { config, policy } = access;
    const can = (right: string, what: string) =>
      rights.set(right, [`can now ${what}`, `can no longer ${what}`]);
    for (const { name, claims } of config.registries) {
      const reader = callerOn(config, side, witness, name);
      if (reader && policy.mayReach(reader, claims)) can(`enter ${name}`, `enter registry ${name}`);
    }
    const caller = callerOn(config, side, witness, null);
    if (!caller) return rights;
    rights.set('accepted', ['is now accepted', 'is now refused']);
    const roles = ROLES.filter((role) => policy.mayAct(caller, role));
    for (const role of roles)
      rights.set(`role ${role}`, [`gains the role ${role}`, `loses the role ${role}`]);
    if (roles.length > 0 && !config.readOnly) can('change', 'change what its roles manage');
    if (policy.mayListRegistries(caller)) can('list', 'list registries through the admin API');
    if (policy.mayAct(caller, 'manageSources'))
      for (const { name, claims } of config.sources)
        if (policy.mayReach(caller, claims)) can(`source ${name}`, `manage source ${name}`);
    if (policy.mayAct(caller, 'manageRegistries'))
      for (const { name, claims } of config.registries)
        if (policy.mayReach(caller, claims)) can(`registry ${name}`, `manage registry ${name}`);
    for (const what of this.publishingOn(access, caller)) can(what, what);
    if (this.comparesClaims)
      for (const [key, values] of Object.entries(caller.claims))
        if (!['iss', 'sub', 'aud'].includes(key))
          for (const value of [values].flat().flatMap((one) => claimText(one) ?? []))
            rights.set(`claim ${key}=${value}`, [
              `gains the claim ${key}=${value}`,
              `loses the claim ${key}=${value}`,
            ]);
    return rights;
  }

  private publishingOn({ config, policy }: OfflineAccess, caller: Caller): string[] {
    const rules = nameRulesOf(config);
    if (!rules || config.readOnly || !policy.mayAct(caller, 'manageEntries')) return [];
    const isFree = (glob: string) => {
      const { claims } = caller;
      const name = glob.replaceAll(/[*?]/g, 'x');
      return !policy.isBoundByNames(caller) || !isReserved(rules, name, claims, claims as Claims);
    };
    const managed = config.sources.filter(({ kind }) => kind === MANAGED_KIND).map(({ name }) => name);
    const published = config.registries.flatMap(({ name, claims, sources, publishClaims: given }) =>
      given && sources.some((source) => managed.includes(source)) && policy.mayReach(caller, claims)
        ? [{ name, given }]
        : [],
    );
    return [
      ...(isFree(OTHER_NAME) ? ['publish other names'] : []),
      ...[...new Set(this.names)].filter(isFree).map((glob) => `publish names like ${glob}`),
      ...published
        .filter(({ given }) => isAllowed(() => policy.checkPublish(caller, given)))
        .map(
          ({ name, given }) =>
            `publish through registry ${name} with ${sentenceOf([{ required: given, arrays: 'all' }])}`,
        ),
    ];
  }
}

function isAllowed(check: () => void): boolean {
  try {
    check();
    return true;
  } catch (error) {
    if (error instanceof ApiError) return false;
    throw error;
  }
}

interface ListDifference {
  readonly gained: readonly string[];
  readonly lost: readonly string[];
  /** Names that another source now provides. */
  readonly moved: readonly string[];
}

/** The entries that a caller sees in each registry, and those that the caller manages. */
class ListDifferences {
  // Most callers see one of only a few lists.
  private readonly known = new Map<ShownNames, Map<ShownNames, ListDifference>>();
  private readonly registries: readonly string[];

  constructor(
    private readonly before: OfflineAccess,
    private readonly after: OfflineAccess,
  ) {
    const names = [before, after].flatMap(({ config }) => config.registries.map(({ name }) => name));
    this.registries = [...new Set(names)];
  }

  differences(witness: ComparedCaller): Difference[] {
    const list = (access: OfflineAccess, side: Side, registry: string | null): ShownNames => {
      const caller = callerOn(access.config, side, witness, registry);
      if (!caller) return new Map();
      return registry === null ? access.managed(caller) : access.shown(caller, registry);
    };
    return [...this.registries, null].flatMap((registry): Difference[] => {
      const { gained, lost, moved } = this.between(
        list(this.before, 'before', registry),
        list(this.after, 'after', registry),
      );
      const right = registry === null ? 'managed' : `entries ${registry}`;
      const where = registry === null ? ' to manage' : ` in registry ${registry}`;
      const sentence = (effect: Difference['effect'], verb: string, names: readonly string[], more = '') =>
        names.length === 0
          ? []
          : [{ right, effect, what: `${verb} ${count(names)}${where}${more}: ${listed(names)}` }];
      return [
        ...sentence('loss', 'loses', lost),
        ...sentence('gain', 'gains', gained),
        ...sentence('both', 'gets', moved, ' from another source'),
      ];
    });
  }

  private between(had: ShownNames, has: ShownNames): ListDifference {
    const known = this.known.get(had)?.get(has);
    if (known) return known;
    const found: ListDifference = {
      gained: [...has.keys()].filter((name) => !had.has(name)),
      lost: [...had.keys()].filter((name) => !has.has(name)),
      moved: [...has].flatMap(([name, source]) => (had.has(name) && had.get(name) !== source ? [name] : [])),
    };
    this.known.set(had, (this.known.get(had) ?? new Map<ShownNames, ListDifference>()).set(has, found));
    return found;
  }
}

/** Recognizes changes already reported for a caller with fewer claims. */
class Reported {
  private readonly holders = new Map<ProviderPair, Map<string, ReadonlySet<string>[]>>();

  isNew(witness: ComparedCaller, what: string): boolean {
    if (witness.kind !== 'token') return true;
    const ofProvider = this.holders.get(witness.provider) ?? new Map<string, ReadonlySet<string>[]>();
    const sets = ofProvider.get(what) ?? [];
    const held = new Set(witness.holds.map((value) => JSON.stringify(value)));
    if (sets.some((fewer) => [...fewer].every((value) => held.has(value)))) return false;
    this.holders.set(witness.provider, ofProvider.set(what, [...sets, held]));
    return true;
  }
}

function sizeOf(caller: ComparedCaller): number {
  return caller.kind === 'token' ? caller.holds.length : 0;
}

/** Describes the values of a token, with pointers for those that are nested. */
function sentence(caller: ComparedCaller): string {
  if (caller.kind !== 'token') return '';
  const required = new Map<string, string[]>();
  for (const { at, value } of caller.holds) {
    const key = at.length === 1 ? String(at[0]) : `/${at.join('/')}`;
    required.set(key, [...(required.get(key) ?? []), value]);
  }
  return sentenceOf([{ required: Object.fromEntries(required), arrays: 'all' }]);
}

function nameOf(
  witness: ComparedCaller,
  configs: readonly Config[],
  sharing: ReadonlySet<ProviderPair>,
  providers: number,
): string {
  switch (witness.kind) {
    case 'none':
      return 'a caller without a token';
    case 'key': {
      const { registry: name, digest } = witness;
      const [key, former] = configs.map(({ registries }) =>
        registries.find((one) => one.name === name)?.keys.find((one) => one.digest === digest),
      );
      return `${key ? 'the key' : 'the former secret of the key'} ${(key ?? former)?.name} of registry ${name}`;
    }
    case 'token': {
      const names = [...sharing].map(({ before, after }) => (after ?? before)?.name).join(', ');
      const who = sentence(witness) || 'any caller';
      return sharing.size === providers ? who : `${who} (provider ${names})`;
    }
  }
}

function count({ length }: readonly string[]): string {
  return length === 1 ? '1 entry' : `${length} entries`;
}

function listed(names: readonly string[]): string {
  const more = names.length - MAX_NAMED;
  return names.slice(0, MAX_NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '');
}
