import type { Caller, Role } from '../auth/caller.js';
import type { AccessPolicy } from '../authz/access-policy.js';
import { policyFor } from '../authz/policy-in-force.js';
import type { Claims } from '../claims/claims.js';
import type { Config, RegistryConfig, SourceConfig } from '../config/config.js';
import type { EntryType } from '../documents/entry-types.js';
import { COMMON_STATUS, isShown } from '../documents/statuses.js';
import {
  type EntryRead,
  type JudgedSource,
  judgeSources,
  NO_VISIBLE_ENTRY,
  SHOWN,
} from '../explain/steps.js';
import { KINDS, MANAGED_KIND } from '../source-kinds/kinds.js';
import { passesFilter } from '../sources/entry-filter.js';
import { readLocalFile } from '../sync/file/local-file.js';
import { readJsonFile } from '../sync/formats/json-file.js';
import { formatSettings } from '../sync/formats/format-readers.js';
import type { StoredSources } from './stored-sources.queries.js';

interface KnownEntry {
  readonly type: EntryType;
  readonly name: string;
  readonly claims: Claims;
  /** The status of the latest version. */
  readonly status: string;
}

interface KnownSource {
  readonly name: string;
  readonly config: SourceConfig;
  /** Null if the source was not read. */
  readonly entries: readonly KnownEntry[] | null;
  /** Whether the entries were read from the database. */
  readonly isStored: boolean;
}

export interface KnownSources {
  readonly sources: ReadonlyMap<string, KnownSource>;
  /** Describes in the output where the entries were read from. */
  readonly origin: string;
}

/**
 * reference/explain: reads the entries from the database if it is reachable, otherwise from local files. For sources
 * that are not local, only the configuration is then known.
 */
export async function readKnownSources(config: Config): Promise<KnownSources> {
  const { stored, problem } = await read(config);
  const sources = await Promise.all(config.sources.map((source) => sourceOf(source, stored)));
  const unread = sources.filter(({ entries }) => entries === null).map(({ name }) => name);
  return {
    sources: new Map(sources.map((source) => [source.name, source])),
    origin:
      (stored ? 'using the catalog in the database' : `without the database (${problem})`) +
      (unread.length > 0 ? `; using only the configuration of ${unread.join(', ')}` : ''),
  };
}

async function read({ database }: Config): Promise<{ stored?: StoredSources; problem?: string }> {
  if (!database) return { problem: 'it is embedded' };
  try {
    const { readStoredSources } = await import('./stored-sources.queries.js');
    return { stored: await readStoredSources(database) };
  } catch (error) {
    return { problem: error instanceof Error && error.message ? error.message : 'it is unreachable' };
  }
}

async function sourceOf(config: SourceConfig, stored: StoredSources | undefined): Promise<KnownSource> {
  const { name } = config;
  if (stored?.sources.includes(name)) {
    const entries = stored.entries
      .filter((entry) => entry.source === name && mayHold(config, entry.name))
      .map((entry) => ({ ...entry, claims: claimsOf(config, entry.claims) }));
    return { name, config, entries, isStored: true };
  }
  return { name, config, entries: await readOffline(config), isStored: false };
}

function mayHold({ filter }: SourceConfig, name: string): boolean {
  return !filter?.names || passesFilter({ names: filter.names }, name, []);
}

// reference/access: entries of synced sources carry the source's claims, here taken from the checked configuration.
function claimsOf({ kind, claims }: SourceConfig, own: Claims): Claims {
  return KINDS[kind].inheritsClaims ? claims : own;
}

// Returns null for sources that only a running server can read.
async function readOffline(config: SourceConfig): Promise<readonly KnownEntry[] | null> {
  switch (config.kind) {
    case 'file':
      return config.settings.path === undefined ? null : readFileOf(config, config.settings.path);
    case 'git':
    case 'api':
    case 'managed':
    case 'kubernetes':
      return null;
  }
}

async function readFileOf(config: SourceConfig, path: string): Promise<readonly KnownEntry[] | null> {
  try {
    const { bytes } = await readLocalFile(path);
    const { entries } = readJsonFile(bytes, formatSettings(config), { add: () => undefined });
    const names = new Map(entries.map(({ type, name }) => [`${type} ${name}`, { type, name }]));
    return [...names.values()].map((entry) => ({ ...entry, claims: config.claims, status: COMMON_STATUS }));
  } catch {
    // The file may exist only on the server's machine.
    return null;
  }
}

/** Prefix used instead of an entry type for a source that was not read. */
const WHOLE_SOURCE = 'source';

/**
 * The names that a caller sees in a registry, with the source that provides each: `server io.acme/a` for an entry,
 * `source catalog` for a source that was not read.
 */
export type ShownNames = ReadonlyMap<string, string>;
const NOTHING: ShownNames = new Map();

/** A source that may have the requested entry. */
interface Candidate {
  readonly name: string;
  readonly entry: Pick<KnownEntry, 'claims' | 'status'> | null;
}

/** Decides access by the policy that a server with this configuration would apply. */
export class OfflineAccess {
  readonly policy: AccessPolicy;
  private readonly registries: ReadonlyMap<string, RegistryConfig>;
  /** Cache of visible names, because many compared callers see the same claim sets. */
  private readonly shownByClaimSets = new Map<string, ShownNames>();

  constructor(
    readonly config: Config,
    private readonly known: KnownSources,
  ) {
    this.policy = policyFor(config.auth);
    this.registries = new Map(config.registries.map((registry) => [registry.name, registry]));
  }

  registry(name: string): RegistryConfig | undefined {
    return this.registries.get(name);
  }

  rolesOf(caller: Caller): readonly Role[] {
    return this.policy.rolesOf(caller);
  }

  enters(caller: Caller, name: string): boolean {
    const registry = this.registries.get(name);
    return registry !== undefined && this.policy.mayReach(caller, registry.claims);
  }

  /** Whether a caller inside the registry sees an entry with this name, of any type. */
  sees(caller: Caller, registry: string, name: string): boolean {
    return this.candidates(registry, name).some(
      (sources) => readEntry(judgeSources(this.policy, caller, sources)).answer === SHOWN,
    );
  }

  /**
   * Returns a registry's sources with their entries of this name, one list per type. Includes sources that were not
   * read, because they may have the entry.
   */
  candidates(registry: string, name: string, type?: string): Candidate[][] {
    const sources = this.sourcesOf(registry);
    const types = new Set(
      sources.flatMap(({ entries }) =>
        (entries ?? []).flatMap((entry) => (entry.name === name ? [entry.type] : [])),
      ),
    );
    const asked = type === undefined ? (types.size > 0 ? [...types] : ['server']) : [type];
    return asked.map((each) => sources.map((source) => candidate(source, each, name)));
  }

  /** Returns everything that a caller sees in a registry; empty if they cannot enter it. */
  shown(caller: Caller, name: string): ShownNames {
    const registry = this.registries.get(name);
    if (!registry || !this.policy.mayReach(caller, registry.claims)) return NOTHING;
    return this.named(name, this.sourcesOf(name), (claims) => this.policy.maySee(caller, claims), isShown);
  }

  /** Returns the published entries that a caller may manage, as far as they are known. */
  managed(caller: Caller): ShownNames {
    if (!this.policy.mayAct(caller, 'manageEntries')) return NOTHING;
    const managed = [...this.known.sources.values()].filter(({ config }) => config.kind === MANAGED_KIND);
    return this.named(
      '',
      managed,
      (claims) => this.policy.mayManage(caller, claims),
      () => true,
    );
  }

  // reference/catalog: the first visible entry of a name shadows all others, even if its versions are deleted.
  private named(
    registry: string,
    sources: readonly KnownSource[],
    allows: (claims: Claims) => boolean,
    isListed: (status: string) => boolean,
  ): ShownNames {
    const visible = sources.map((source) => ({ source, sets: visibleSets(source, allows) }));
    const key = JSON.stringify([registry, visible.map(({ sets }) => [...sets])]);
    const cached = this.shownByClaimSets.get(key);
    if (cached) return cached;
    const first = new Map<string, { source: string; status: string }>();
    for (const { source, sets } of visible) {
      if (!source.entries && sets.size > 0)
        first.set(`${WHOLE_SOURCE} ${source.name}`, { source: source.name, status: COMMON_STATUS });
      for (const { type, name, claims, status } of source.entries ?? []) {
        const entry = `${type} ${name}`;
        if (sets.has(JSON.stringify(claims)) && !first.has(entry))
          first.set(entry, { source: source.name, status });
      }
    }
    const shown = new Map(
      [...first].flatMap(([name, { source, status }]) => (isListed(status) ? [[name, source] as const] : [])),
    );
    this.shownByClaimSets.set(key, shown);
    return shown;
  }

  claimsOf(registry: string): Claims[] {
    return distinct(this.sourcesOf(registry).flatMap((source) => [...setsOf(source).values()]));
  }

  /** Returns the known entries of a registry's sources, including shadowed ones. */
  entriesIn(registry: string): { source: string; name: string; claims: Claims }[] {
    return this.sourcesOf(registry).flatMap(({ name: source, entries }) =>
      (entries ?? []).map(({ type, name, claims }) => ({ source, name: `${type} ${name}`, claims })),
    );
  }

  /** Returns the distinct claims of published entries. */
  managedClaims(): Claims[] {
    const managed = [...this.known.sources.values()].filter(({ config }) => config.kind === MANAGED_KIND);
    return distinct(managed.flatMap((source) => [...setsOf(source).values()]));
  }

  source(name: string): KnownSource | undefined {
    return this.known.sources.get(name);
  }

  private sourcesOf(registry: string): KnownSource[] {
    return (this.registries.get(registry)?.sources ?? []).flatMap(
      (name) => this.known.sources.get(name) ?? [],
    );
  }
}

function visibleSets(source: KnownSource, allows: (claims: Claims) => boolean): Set<string> {
  return new Set([...setsOf(source)].flatMap(([text, claims]) => (allows(claims) ? [text] : [])));
}

function distinct(all: readonly Claims[]): Claims[] {
  return [...new Map(all.map((claims) => [JSON.stringify(claims), claims])).values()];
}

/** Reads an entry like the consumer API, but without SQL: the first visible entry shadows all others (reference/catalog). */
export function readEntry(sources: readonly JudgedSource<Candidate>[]): EntryRead {
  const first = sources.find(({ judgement }) => judgement?.allowed);
  if (!first?.source.entry) return NO_VISIBLE_ENTRY;
  const { name: source, entry } = first.source;
  return { ...(isShown(entry.status) ? { answer: SHOWN } : NO_VISIBLE_ENTRY), source, status: entry.status };
}

const setsBySource = new WeakMap<KnownSource, Map<string, Claims>>();

/**
 * Returns a source's claim sets by JSON text. If the source was not read, uses the claims its entries would inherit.
 */
function setsOf(source: KnownSource): Map<string, Claims> {
  const cached = setsBySource.get(source);
  if (cached) return cached;
  const { entries, config } = source;
  const inherited = KINDS[config.kind].inheritsClaims ? [config.claims] : [];
  const claims = entries ? entries.map((entry) => entry.claims) : inherited;
  const sets = new Map(claims.map((each) => [JSON.stringify(each), each]));
  setsBySource.set(source, sets);
  return sets;
}

function candidate({ name: source, config, entries }: KnownSource, type: string, name: string): Candidate {
  const { kind, claims } = config;
  const inherited =
    KINDS[kind].inheritsClaims && mayHold(config, name) ? { claims, status: COMMON_STATUS } : null;
  const found = entries?.find((entry) => entry.type === type && entry.name === name) ?? null;
  return { name: source, entry: entries ? found : inherited };
}
