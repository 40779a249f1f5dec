import type { Caller, Role } from '../auth/caller.js';
import type { AccessPolicy } from '../authz/access-policy.js';
import { policyFor } from '../authz/policy-in-force.js';
import type { Claims } from '../claims/claims.js';
import type { Config, RegistryConfig, SourceConfig } from '../config/config.js';
import type { EntryType } from '../documents/entry-types.js';
import type { SourceFacts } from '../explain/explain.queries.js';
import { assumedCaller } from '../explain/question.js';
import { firstVisible, judgeSources } from '../explain/see.service.js';
import { KINDS } from '../source-kinds/kinds.js';
import { passesFilter } from '../sources/entry-filter.js';
import { readLocalFile } from '../sync/file/local-file.js';
import { readRegistryFile } from '../sync/file/registry-file.js';
import type { StoredCatalogue } from './stored-catalogue.queries.js';

/** An entry, as far as access goes. */
export interface KnownEntry {
  readonly type: EntryType;
  readonly name: string;
  readonly claims: Claims;
}

/** What a source of a configuration has. */
export interface KnownSource {
  readonly name: string;
  readonly config: SourceConfig;
  /** Null: nobody has read it. */
  readonly entries: readonly KnownEntry[] | null;
}

/** The sources of a configuration with their entries: of the database, else of local files. */
export interface Catalogue {
  readonly sources: ReadonlyMap<string, KnownSource>;
  /** Where the entries are from, in one sentence. */
  readonly origin: string;
}

/**
 * contract §10: the catalogue of the database where it can be reached. Without it local files are read, and of all other sources
 * only the rules are known.
 */
export async function readCatalogue(config: Config): Promise<Catalogue> {
  const { stored, problem } = await read(config);
  const sources = await Promise.all(config.sources.map((source) => sourceOf(source, stored)));
  const unread = sources.filter(({ entries }) => entries === null).map(({ name }) => name);
  return {
    sources: new Map(sources.map((source) => [source.name, source])),
    origin:
      (stored ? 'on the catalogue of the database' : `without the database (${problem})`) +
      (unread.length > 0 ? `; of ${unread.join(', ')} on the rules alone` : ''),
  };
}

async function read({ database }: Config): Promise<{ stored?: StoredCatalogue; problem?: string }> {
  if (!database) return { problem: 'it is an embedded one' };
  try {
    const { readStoredCatalogue } = await import('./stored-catalogue.queries.js');
    return { stored: await readStoredCatalogue(database) };
  } catch (error) {
    return { problem: error instanceof Error && error.message ? error.message : 'it can not be reached' };
  }
}

async function sourceOf(config: SourceConfig, stored: StoredCatalogue | undefined): Promise<KnownSource> {
  const { name } = config;
  if (stored?.sources.includes(name)) {
    const entries = stored.entries
      .filter((entry) => entry.source === name && mayHold(config, entry.name))
      .map((entry) => ({ ...entry, claims: claimsOf(config, entry.claims) }));
    return { name, config, entries };
  }
  return { name, config, entries: await readFileOf(config) };
}

/** May the source have an entry of this name, as far as its filter says? */
export function mayHold({ filter }: SourceConfig, name: string): boolean {
  return !filter?.names || passesFilter({ names: filter.names }, name, []);
}

// spec §2.4: entries of synced sources carry the claims of the source, those of the configuration that is checked.
function claimsOf({ kind, claims }: SourceConfig, own: Claims): Claims {
  return KINDS[kind].inheritsClaims ? claims : own;
}

async function readFileOf(config: SourceConfig): Promise<readonly KnownEntry[] | null> {
  if (config.kind !== 'file' || config.settings.path === undefined) return null;
  try {
    const { bytes } = await readLocalFile(config.settings.path);
    const { entries } = await readRegistryFile(bytes, config.filter, { add: () => undefined });
    const names = new Map(entries.map(({ type, name }) => [`${type} ${name}`, { type, name }]));
    return [...names.values()].map((entry) => ({ ...entry, claims: config.claims }));
  } catch {
    // A file that is elsewhere, such as on the machine that serves.
    return null;
  }
}

/** Stands for all entries of a source that nobody has read. */
const WHOLE_SOURCE = 'source';

/** What somebody sees of a registry: by type and name, `server io.acme/a`, or `source catalog` for all of a source. */
export type ShownNames = ReadonlySet<string>;

/** Who may do what by a configuration, decided by the policy that its server would have. */
export class OfflineAccess {
  readonly policy: AccessPolicy;
  private readonly registries: ReadonlyMap<string, RegistryConfig>;
  /** What each of the many callers of a comparison sees: mostly the same as others. */
  private readonly shownByPartitions = new Map<string, ShownNames>();

  constructor(
    readonly config: Config,
    private readonly catalogue: Catalogue,
  ) {
    this.policy = policyFor(config.auth);
    this.registries = new Map(config.registries.map((registry) => [registry.name, registry]));
  }

  registry(name: string): RegistryConfig | undefined {
    return this.registries.get(name);
  }

  rolesOf(claims: Readonly<Record<string, unknown>>): readonly Role[] {
    return this.policy.rolesOf(assumedCaller(claims));
  }

  enters(claims: Readonly<Record<string, unknown>>, name: string): boolean {
    const registry = this.registries.get(name);
    return registry !== undefined && this.policy.mayReach(assumedCaller(claims), registry.claims);
  }

  /** Whether somebody who enters the registry sees an entry of this name, of whatever type. */
  sees(claims: Readonly<Record<string, unknown>>, registry: string, name: string): boolean {
    const caller = assumedCaller(claims);
    return this.factsOf(registry, name).some(
      (facts) => firstVisible(judgeSources(this.policy, caller, facts)) !== undefined,
    );
  }

  /** What the sources of a registry have of a name, once for each type; a source that nobody has read may have it. */
  factsOf(registry: string, name: string, type?: string): SourceFacts[][] {
    const sources = this.sourcesOf(registry);
    const types = new Set(
      sources.flatMap(({ entries }) =>
        (entries ?? []).flatMap((entry) => (entry.name === name ? [entry.type] : [])),
      ),
    );
    const asked = type === undefined ? (types.size > 0 ? [...types] : ['server']) : [type];
    return asked.map((each) => sources.map((source) => factsOf(source, each, name)));
  }

  /** Everything that somebody sees of a registry; nothing of one they may not enter. */
  shown(claims: Readonly<Record<string, unknown>>, registry: string): ShownNames {
    if (!this.enters(claims, registry)) return new Set();
    const caller = assumedCaller(claims);
    const sources = this.sourcesOf(registry).map((source) => ({
      source,
      sets: this.visibleSets(source, caller),
    }));
    const key = JSON.stringify([registry, sources.map(({ sets }) => [...sets])]);
    const known = this.shownByPartitions.get(key);
    if (known) return known;
    const shown = new Set(
      sources.flatMap(({ source: { name, entries }, sets }) =>
        entries
          ? entries
              .filter((entry) => sets.has(JSON.stringify(entry.claims)))
              .map((entry) => `${entry.type} ${entry.name}`)
          : sets.size > 0
            ? [`${WHOLE_SOURCE} ${name}`]
            : [],
      ),
    );
    this.shownByPartitions.set(key, shown);
    return shown;
  }

  /** The claims that the entries of a registry carry. */
  claimsOf(registry: string): Claims[] {
    const all = this.sourcesOf(registry).flatMap((source) => [...setsOf(source).values()]);
    return [...new Map(all.map((claims) => [JSON.stringify(claims), claims])).values()];
  }

  private sourcesOf(registry: string): KnownSource[] {
    return (this.registries.get(registry)?.sources ?? []).flatMap(
      (name) => this.catalogue.sources.get(name) ?? [],
    );
  }

  private visibleSets(source: KnownSource, caller: Caller): Set<string> {
    const visible = [...setsOf(source)].filter(([, claims]) => this.policy.maySee(caller, claims));
    return new Set(visible.map(([text]) => text));
  }
}

const setsBySource = new WeakMap<KnownSource, Map<string, Claims>>();

/** The claim sets of a source by their text; of one that nobody has read those that its entries would inherit. */
function setsOf(source: KnownSource): Map<string, Claims> {
  const known = setsBySource.get(source);
  if (known) return known;
  const { entries, config } = source;
  const inherited = KINDS[config.kind].inheritsClaims ? [config.claims] : [];
  const claims = entries ? entries.map((entry) => entry.claims) : inherited;
  const sets = new Map(claims.map((each) => [JSON.stringify(each), each]));
  setsBySource.set(source, sets);
  return sets;
}

function factsOf({ name: source, config, entries }: KnownSource, type: string, name: string): SourceFacts {
  const { kind, claims } = config;
  const inherited = KINDS[kind].inheritsClaims && mayHold(config, name) ? { claims } : undefined;
  const found = entries ? entries.find((entry) => entry.type === type && entry.name === name) : inherited;
  const entry = found ? { claims: found.claims, status: 'active', latestStatus: 'active' } : null;
  return { name: source, kind, claims, problem: null, entry };
}
