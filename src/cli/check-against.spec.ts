import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Random } from '../../test/support/random.js';
import { inSoak } from '../../test/support/soak.js';
import { type Caller, ROLES, UNIDENTIFIED_CALLER } from '../auth/caller.js';
import { mapClaims } from '../auth/claim-mapping.js';
import { callerOfClaims } from '../auth/token-claims.js';
import { policyFor } from '../authz/policy-in-force.js';
import type { Claims } from '../claims/claims.js';
import { type ClaimRuleSettings, claimRuleOf } from '../config/auth-settings.dto.js';
import type { AuthConfig, Config, ProviderConfig, RegistryConfig, SourceConfig } from '../config/config.js';
import { loadConfig } from '../config/load-config.js';
import { REGISTRY_SETTINGS } from '../config/registry-settings.dto.js';
import { isReserved } from '../entries/publish-rules.js';
import { toStored } from '../source-kinds/settings-table.js';
import { SOURCE_SETTINGS } from '../source-kinds/source-settings.dto.js';
import { changes } from './check-against.js';
import { type ComparedCaller, tokenOf } from './compared-callers.js';
import { type KnownSources, OfflineAccess } from './offline-access.js';

const VALUES = ['a', 'b', 'c'];
const RAW_VALUES = [...VALUES, 't/a', 't/b', 'x'];
const KEYS = ['org', 'team', 'role'];
const POINTERS = [['org'], ['groups'], ['realm', 'roles'], ['role']];
const SUBJECTS = ['u1', 'u2', 'u3'];
const NAMES = ['com.a/one', 'com.b/two', 'com.c/three'];

const BASE = (() => {
  const folder = mkdtempSync(join(tmpdir(), 'against-'));
  const file = join(folder, 'registry.yaml');
  writeFileSync(file, 'auth: { mode: anonymous }\n');
  try {
    return loadConfig(file, {}, {}).config;
  } finally {
    rmSync(folder, { recursive: true });
  }
})();

interface Entry {
  readonly name: string;
  readonly status: string;
  readonly claims: Claims;
}

/** A configuration with the entries of its sources. */
interface World {
  readonly config: Config;
  readonly entries: ReadonlyMap<string, readonly Entry[]>;
}

/** Draws the parts of a configuration from a small universe, so that they often concern the same callers. */
class Draw {
  constructor(private readonly random: Random) {}

  claims(keys: number, lists: boolean): Claims {
    const { random } = this;
    const value = () => (lists && random.chance(0.2) ? random.some(VALUES, 0.6) : random.pick(VALUES));
    const members = random
      .shuffle(KEYS)
      .slice(0, keys)
      .map((key) => [key, value()] as const)
      .filter(([, drawn]) => drawn.length > 0);
    return Object.fromEntries(members);
  }

  private rule(): ClaimRuleSettings {
    const { random } = this;
    const to = random.pick(KEYS);
    const from = `/${random.pick(POINTERS).join('/')}`;
    const values = Object.fromEntries(random.some(VALUES, 0.6).map((value) => [value, random.pick(VALUES)]));
    return random.weigh<() => ClaimRuleSettings>([
      [3, () => ({ to, from })],
      [2, () => ({ to, from, pattern: 't/*' })],
      [2, () => ({ to, from, values: { ...values, a: random.pick(VALUES) } })],
      [1, () => ({ to, from, pattern: 't/*', values: { b: random.pick(VALUES) } })],
      [1, () => ({ to, value: random.pick(VALUES) })],
      [
        2,
        () => ({
          to,
          value: random.pick(VALUES),
          when: { [random.pick(['org', 'groups'])]: random.pick(VALUES) },
        }),
      ],
    ])();
  }

  private provider(name: string): ProviderConfig {
    const { random } = this;
    const rules = Array.from({ length: random.between(1, 4) }, () => claimRuleOf(this.rule()));
    return {
      name,
      issuerUrl: `https://${name}.example.com`,
      audience: 'registry',
      allowPrivateIP: false,
      introspection: 'fallback',
      idTokens: 'refuse',
      clockToleranceMs: 0,
      connectOrigins: [],
      ...(random.chance(0.7) ? { claims: rules } : {}),
      ...(random.chance(0.5) ? { displayName: random.pick(VALUES) } : {}),
    };
  }

  oauth(): NonNullable<AuthConfig['oauth']> {
    const { random } = this;
    return {
      resourceUrl: 'https://registry.example.com',
      realm: 'mcp-registry',
      scopesSupported: [],
      publicPaths: [],
      providers: ['one', ...random.some(['two'], 0.4)].map((name) => this.provider(name)),
      blocked: random.some(SUBJECTS, 0.2).map((subject) => ({
        subject,
        ...(random.chance(0.5) ? { issuer: 'https://one.example.com' } : {}),
      })),
    };
  }

  authz(): AuthConfig['authz'] {
    const { random } = this;
    const rules = () =>
      Array.from({ length: random.between(0, 2) }, () => this.claims(random.between(1, 2), true));
    return {
      roles: {
        superAdmin: rules(),
        manageSources: rules(),
        manageRegistries: rules(),
        manageEntries: rules(),
      },
      policy: {
        arrayValues: random.pick(['all', 'any']),
        unlabeled: random.pick(['allow', 'deny']),
        registryListing: random.pick(['managers', 'readers']),
      },
    };
  }

  sources(): { sources: SourceConfig[]; entries: Map<string, Entry[]> } {
    const { random } = this;
    const entries = new Map<string, Entry[]>();
    const sources = ['s1', 's2', 's3'].map((name): SourceConfig => {
      const isManaged = name === 's3' && random.chance(0.4);
      const claims = this.claims(random.between(0, 2), true);
      entries.set(
        name,
        random.some(NAMES, 0.6).map((entry) => ({
          name: entry,
          status: random.chance(0.8) ? 'active' : 'deleted',
          claims: isManaged ? this.claims(random.between(1, 2), true) : claims,
        })),
      );
      const names = [{ include: [random.pick(['com.a/*', 'com.*'])], claims: this.claims(1, false) }];
      const common = { ...toStored(SOURCE_SETTINGS, {}), name, claims };
      return isManaged
        ? { ...common, kind: 'managed', intervalMs: null, settings: random.chance(0.5) ? { names } : {} }
        : { ...common, kind: 'file', intervalMs: 1, settings: { path: `/${name}.json` } };
    });
    return { sources, entries };
  }

  registries(): RegistryConfig[] {
    const { random } = this;
    return random.some(['r1', 'r2'], 0.9).map((name) => ({
      ...toStored(REGISTRY_SETTINGS, {}),
      name,
      sources: random.shuffle(random.some(['s1', 's2', 's3'], 0.7)),
      claims: this.claims(random.between(0, 2), true),
      anonymousClaims: random.chance(0.3) ? this.claims(random.between(0, 2), true) : null,
      keys: random.some(['k1', 'k2'], 0.3).map((key) => ({
        name: key,
        digest: createHash('sha256').update(random.pick(VALUES)).digest('hex'),
        secretFile: '/key',
        claims: this.claims(random.between(0, 2), true),
        expires: random.chance(0.2) ? '2020-01-01' : null,
      })),
      publishClaims: random.chance(0.2) ? this.claims(1, false) : null,
    }));
  }

  auth(): AuthConfig {
    const { random } = this;
    const authz = this.authz();
    return {
      mode: random.chance(0.05) ? 'anonymous' : 'oauth',
      oauth: this.oauth(),
      ...(authz && random.chance(0.85) ? { authz } : {}),
    };
  }

  world(): World {
    const { sources, entries } = this.sources();
    const readOnly = this.random.chance(0.1);
    return {
      config: { ...BASE, auth: this.auth(), sources, registries: this.registries(), readOnly },
      entries,
    };
  }

  /** A configuration that differs in one small part, or in nothing that matters. */
  changed({ config, entries }: World): World {
    const { random } = this;
    const { auth } = config;
    const [first, ...others] = auth.oauth?.providers ?? [];
    const again = this.registries();
    return random.pick<() => World>([
      () => ({ config, entries }),
      () => ({ config: { ...config, auth: { ...auth, oauth: this.oauth() } }, entries }),
      () => ({ config: { ...config, auth: this.auth() }, entries }),
      () => ({ config: { ...config, readOnly: !config.readOnly }, entries }),
      () => ({ config: { ...config, registries: again }, entries }),
      () => ({
        config: {
          ...config,
          registries: config.registries.map((registry) => ({
            ...registry,
            sources: random.shuffle(registry.sources),
          })),
        },
        entries,
      }),
      () => {
        const { sources, entries: other } = this.sources();
        return { config: { ...config, sources }, entries: other };
      },
      () => {
        const rules = [...(first?.claims ?? []), claimRuleOf(this.rule())];
        const changed = first && { ...first, claims: random.chance(0.5) ? rules : random.some(rules, 0.7) };
        const oauth = auth.oauth && { ...auth.oauth, providers: [...(changed ? [changed] : []), ...others] };
        return { config: { ...config, auth: { ...auth, ...(oauth ? { oauth } : {}) } }, entries };
      },
    ])();
  }

  /** A caller from the universe. */
  caller(): ReferenceCaller {
    const { random } = this;
    if (random.chance(0.05)) return { kind: 'none' };
    if (random.chance(0.1))
      return {
        kind: 'key',
        registry: random.pick(['r1', 'r2']),
        digest: createHash('sha256').update(random.pick(VALUES)).digest('hex'),
      };
    const list = (probability: number) => random.some(RAW_VALUES, probability);
    const provider = random.pick(['one', 'two']);
    const token = {
      iss: `https://${provider}.example.com`,
      aud: 'registry',
      sub: random.pick(SUBJECTS),
      org: list(0.3),
      groups: list(0.3),
      role: random.pick(RAW_VALUES),
      realm: { roles: list(0.3) },
    };
    return {
      kind: 'token',
      provider,
      token: { ...token, ...(random.chance(0.5) ? { team: list(0.3) } : {}) },
    };
  }
}

type ReferenceCaller =
  | Exclude<ComparedCaller, { kind: 'token' }>
  | { readonly kind: 'token'; readonly provider: string; readonly token: Readonly<Record<string, unknown>> };

function catalogueOf({ config, entries }: World): KnownSources {
  const sources = config.sources.map((source) => ({
    name: source.name,
    config: source,
    entries: (entries.get(source.name) ?? []).map((entry) => ({ ...entry, type: 'server' as const })),
    isStored: false,
  }));
  return { sources: new Map(sources.map((source) => [source.name, source])), origin: 'for a test' };
}

/** Everything that a caller may do and see, determined by asking the policy one question at a time. */
function accessOf({ config, entries }: World, caller: ReferenceCaller): unknown {
  const policy = policyFor(config.auth);
  const may = (who: Caller | null, isAllowed: (caller: Caller) => boolean) => who !== null && isAllowed(who);
  const everywhere = identified(config, caller, null);
  const roles = ROLES.filter((role) => may(everywhere, (who) => policy.mayAct(who, role)));
  const manages = (role: (typeof ROLES)[number], claims: Claims) =>
    may(everywhere, (who) => policy.mayAct(who, role) && policy.mayReach(who, claims));
  const managed = config.sources.find(({ kind }) => kind === 'managed');
  const rules = managed && 'names' in managed.settings ? (managed.settings.names ?? []) : [];
  const isManager = may(everywhere, (who) => managed !== undefined && policy.mayAct(who, 'manageEntries'));
  const publishes = isManager && !config.readOnly;
  return {
    accepted: everywhere !== null,
    roles,
    changes: roles.length > 0 && !config.readOnly,
    lists: may(everywhere, (who) => policy.mayListRegistries(who)),
    sources: config.sources
      .filter(({ claims }) => manages('manageSources', claims))
      .map(({ name }) => name)
      .sort(),
    managed: config.registries
      .filter(({ claims }) => manages('manageRegistries', claims))
      .map(({ name }) => name)
      .sort(),
    names: [...NAMES, 'org.z/four'].filter(
      (name) =>
        publishes &&
        may(
          everywhere,
          (who) => !policy.isBoundByNames(who) || !isReserved(rules, name, who.claims, who.claims as Claims),
        ),
    ),
    entries: managed
      ? (entries.get(managed.name) ?? [])
          .filter(({ claims }) => isManager && may(everywhere, (who) => policy.mayManage(who, claims)))
          .map(({ name }) => name)
          .sort()
      : [],
    registries: Object.fromEntries(
      config.registries.flatMap(({ name, claims: gate, sources, publishClaims }) => {
        const reader = identified(config, caller, name);
        if (!may(reader, (who) => policy.mayReach(who, gate))) return [];
        const shown = NAMES.flatMap((entry) => {
          const [first] = sources.flatMap((source) => {
            const found = (entries.get(source) ?? []).find((one) => one.name === entry);
            return found && may(reader, (who) => policy.maySee(who, found.claims))
              ? [{ source, ...found }]
              : [];
          });
          return first?.status === 'active' ? [[entry, first.source]] : [];
        });
        const through =
          publishes && publishClaims !== null && sources.includes(managed?.name ?? '')
            ? may(
                everywhere,
                (who) =>
                  isAllowed(() => policy.checkPublish(who, publishClaims)) && policy.mayReach(who, gate),
              )
            : false;
        return [[name, { shown, through: through && publishClaims }]];
      }),
    ),
  };
}

function isAllowed(check: () => void): boolean {
  try {
    check();
    return true;
  } catch {
    return false;
  }
}

function identified(
  { auth, registries }: Config,
  caller: ReferenceCaller,
  registry: string | null,
): Caller | null {
  if (auth.mode === 'anonymous') return caller.kind === 'key' ? null : UNIDENTIFIED_CALLER;
  const { keys = [], anonymousClaims = null } = registries.find(({ name }) => name === registry) ?? {};
  if (caller.kind === 'none') return anonymousClaims && { ...UNIDENTIFIED_CALLER, claims: anonymousClaims };
  if (caller.kind === 'key') {
    const key = keys.find(({ digest, expires }) => digest === caller.digest && expires === null);
    return key && caller.registry === registry ? { ...UNIDENTIFIED_CALLER, claims: key.claims } : null;
  }
  const provider = auth.oauth?.providers.find(({ name }) => name === caller.provider);
  if (!provider) return null;
  const { token } = caller;
  const isBlocked = auth.oauth?.blocked.some(
    ({ issuer, subject }) =>
      subject === token['sub'] && (issuer === undefined || issuer === provider.issuerUrl),
  );
  return isBlocked
    ? null
    : callerOfClaims(token, provider, provider.claims ? mapClaims(token, provider.claims) : token);
}

function referenceOf(witness: ComparedCaller): ReferenceCaller {
  if (witness.kind !== 'token') return witness;
  const provider = witness.provider.after ?? witness.provider.before;
  const token = provider && tokenOf(provider, witness.holds);
  if (!provider || !token) throw new Error('The witness has no token');
  return { kind: 'token', provider: provider.name, token };
}

const ownClaims = ({ config }: World) => config.sources.some(({ kind }) => kind === 'managed');

describe('somebody gains or loses access exactly if check --against reports it (reference/explain)', () => {
  const PAIRS = inSoak(500, 20);
  const CALLERS = 25;
  it.each([1, 2, 3, 4])('for pairs of configurations, seed %i', (seed) => {
    const draw = new Draw(new Random(seed));
    let changed = 0;
    for (let pair = 0; pair < PAIRS; pair += 1) {
      const before = draw.world();
      const after = draw.changed(before);
      const found = changes(
        new OfflineAccess(before.config, catalogueOf(before)),
        new OfflineAccess(after.config, catalogueOf(after)),
      );
      const differs = (caller: ReferenceCaller) =>
        JSON.stringify(accessOf(before, caller)) !== JSON.stringify(accessOf(after, caller));
      const callers = Array.from({ length: CALLERS }, () => draw.caller()).filter(differs);
      if (callers.length > 0 && found.length === 0)
        throw new Error(
          `Pair ${pair}: nothing is reported, but access changes for ${JSON.stringify(callers[0])}`,
        );
      // Every reported change affects some caller. If entries have claims of their own, a requirement for unknown
      // claims counts as access.
      const hasOwnClaims = ownClaims(before) || ownClaims(after);
      const happens = new Map<ComparedCaller, boolean>();
      for (const { who, what, witness } of found) {
        if (hasOwnClaims && (!witness || /the claim /.test(what))) continue;
        if (!witness) throw new Error(`${who}: ${what} has no witness`);
        const isTrue = happens.get(witness) ?? differs(referenceOf(witness));
        happens.set(witness, isTrue);
        if (!isTrue) throw new Error(`Pair ${pair}: ${who}: ${what}: nothing changes for this caller`);
      }
      changed += found.length > 0 ? 1 : 0;
    }
    expect(changed).toBeGreaterThan(PAIRS / 4);
    expect(changed).toBeLessThan(PAIRS * 0.9);
  });
});
