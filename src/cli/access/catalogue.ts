import type { Claims } from '../../claims/claims.js';
import type { Config, SourceConfig } from '../../config/config.js';
import type { EntryType } from '../../documents/entry-types.js';
import { KINDS } from '../../source-kinds/kinds.js';
import { passesFilter } from '../../sources/entry-filter.js';
import { readLocalFile } from '../../sync/file/local-file.js';
import { readRegistryFile } from '../../sync/file/registry-file.js';
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
