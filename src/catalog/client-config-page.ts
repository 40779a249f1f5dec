import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import {
  ClientConfig,
  type ConfigPart,
  MAX_SERVER_BYTES,
  OMITTED,
  type PluginPolicy,
  syntaxOf,
  type VersionKind,
} from '../client-config/client-config.js';
import { type ClientName, type ConfigForm } from '../client-config/clients.js';
import type { PluginVersion } from '../client-config/plugin-server.js';
import { MAX_PAGE_BYTES } from '../http/lists.js';
import { elements } from '../json/json-values.js';
import { pauseIfDue } from '../limits/time-slice.js';
import type { ViewSql } from '../visibility/freshness.queries.js';
import { blockedPlugins, type BlockedView, blockedVersions } from './blocked-versions.queries.js';
import { readList } from './list-strategies.js';
import type { ListFilter, Position } from './list-request.js';
import { type PageBody, type RowsPerName, type VersionRow, withinPage } from './page-body.js';
import { visiblePlugins } from './plugin-servers.queries.js';

/** Limits of a configuration that is built in memory and cached, including its documents. A longer one is streamed. */
const MAX_SERVERS = 10_000;
const MAX_CHARACTERS = 16 * 1_024 * 1_024;
/** Limits of a page, in addition to its size. */
const SERVERS_PER_PAGE = 250;

/** Thrown instead of returning a configuration that is too long to build in memory, or that changed while it was read. */
export class LongConfig extends Error {
  override readonly name = 'LongConfig';
}

export interface ClientConfigFile {
  readonly client: ClientName;
  readonly form: ConfigForm;
}

/** The plugin settings of a file. Cache keys contain their digest. */
export class ConfigPlugins implements PluginPolicy {
  readonly marketplace: string;
  readonly settings?: object;

  constructor({ marketplace, settings }: PluginPolicy) {
    this.marketplace = marketplace;
    if (settings) this.settings = settings;
  }

  toJSON(): string {
    return hash('sha256', JSON.stringify([this.marketplace, this.settings]), 'base64url');
  }
}

/** A client's file; `blocked` is set if it depends on denied versions, `plugins` if the registry is a marketplace. */
export interface ConfigRequest extends ClientConfigFile {
  readonly blocked?: BlockedView;
  readonly plugins?: ConfigPlugins;
}

/** The last version read: its kind and its position in the list, which is null at the start of a kind. */
export interface ConfigPosition {
  readonly kind: VersionKind;
  readonly after: Position | null;
}

/** The parts of some servers, ordered by name, and the position to continue from; null after the last page. */
export interface PartPage {
  readonly parts: readonly ConfigPart[];
  /** The length of the documents and the parts. */
  readonly characters: number;
  readonly next: ConfigPosition | null;
}

const FILTERS = {
  latest: { version: 'latest' },
  denied: { status: 'deleted', includeDeleted: true },
} as const satisfies Partial<Record<VersionKind, ListFilter>>;

/** Keys of all cached sets: a key takes about 100 bytes. */
const MAX_LISTED_KEYS = 200_000;

/** Reads the servers of a view and builds their parts of a configuration. */
export class ConfigReader {
  /** The keys of listed servers and of denied connections, by view and client. */
  private readonly keys = new LRUCache<string, ReadonlySet<string>>({
    maxSize: MAX_LISTED_KEYS,
    sizeCalculation: ({ size }) => size + 1,
  });

  constructor(private readonly rowsPerName: RowsPerName) {}

  /** Reads the next versions of the view, in the order of `config.kinds`. */
  async parts(
    sql: ViewSql,
    request: ConfigRequest,
    config: ClientConfig,
    from: ConfigPosition | null,
  ): Promise<PartPage> {
    const [first = 'latest'] = config.kinds;
    const { kind, after } = from ?? { kind: first, after: null };
    const excludedFrom = {
      latest: async () => new Set<string>(),
      plugin: () => this.deniedKeys(sql, request, config),
    };
    const exclude = isListed(kind) ? excludedFrom[kind] : () => this.listedKeys(sql, request, config);
    let excluded: ReadonlySet<string> | undefined;
    const parts: ConfigPart[] = [];
    let characters = 0;
    const next = await this.versions(sql, kind, request, after, async (found) => {
      excluded ??= await exclude();
      const part = partOf(config, found, isListed(kind), excluded);
      parts.push(part);
      characters += lengthOf(found) + JSON.stringify(part).length;
      return characters <= MAX_PAGE_BYTES;
    });
    if (next) return { parts, characters, next: { kind, after: next } };
    const following = config.kinds[config.kinds.indexOf(kind) + 1];
    return { parts, characters, next: following ? { kind: following, after: null } : null };
  }

  // A deny-list must not block listed servers under any name. Plugins are not considered: any publisher of a plugin
  // could lift a denial with the same command.
  private listedKeys(
    sql: ViewSql,
    request: ConfigRequest,
    config: ClientConfig,
  ): Promise<ReadonlySet<string>> {
    const keysOf = (found: VersionRow | PluginRow) => ('servers' in found ? [] : config.listedKeys(found));
    return this.cachedKeys(sql, request, ['latest'], 'listed', keysOf);
  }

  private async deniedKeys(
    sql: ViewSql,
    request: ConfigRequest,
    config: ClientConfig,
  ): Promise<ReadonlySet<string>> {
    const listed = await this.listedKeys(sql, request, config);
    const keysOf = (found: VersionRow | PluginRow) => config.deniedKeys(found, listed);
    return this.cachedKeys(sql, request, DENIED_KINDS, `denied ${request.blocked?.tag}`, keysOf);
  }

  private async cachedKeys(
    sql: ViewSql,
    request: ConfigRequest,
    kinds: readonly VersionKind[],
    of: string,
    keysOf: (found: VersionRow | PluginRow) => readonly string[],
  ): Promise<ReadonlySet<string>> {
    const key = `${sql.view.tag} ${request.client} ${of}`;
    const cached = this.keys.get(key);
    if (cached) return cached;
    const keys = new Set<string>();
    for (const kind of kinds) {
      let after: Position | null = null;
      do {
        after = await this.versions(sql, kind, request, after, (found) => {
          for (const one of keysOf(found)) keys.add(one);
          return true;
        });
      } while (after !== null);
    }
    if (sql.check.isCurrent) this.keys.set(key, keys);
    return keys;
  }

  /**
   * Reads a page of versions.
   *
   * @param add returns false if the page is full.
   * @returns the position to continue from; null at the end.
   */
  private async versions(
    sql: ViewSql,
    kind: VersionKind,
    { blocked }: ConfigRequest,
    after: Position | null,
    add: (version: VersionRow | PluginRow) => boolean | Promise<boolean>,
  ): Promise<Position | null> {
    const { rows, isLast } = await this.page(sql, kind, blocked?.visible ?? [], after);
    let last: Position | undefined;
    let count = 0;
    for (const version of rows) {
      await pauseIfDue();
      last = version;
      count += 1;
      if (!(await add(version))) break;
    }
    if (!last || (isLast && count === rows.length)) return null;
    // No key sorts below the empty string, so no name is read twice, even if its latest version changes in the
    // meantime.
    return { name: last.name, key: kind === 'latest' ? '' : last.key };
  }

  private async page(
    sql: ViewSql,
    kind: VersionKind,
    blocked: BlockedView['visible'],
    after: Position | null,
  ): Promise<{ readonly rows: readonly (VersionRow | PluginRow)[]; readonly isLast: boolean }> {
    const page = { limit: SERVERS_PER_PAGE, after, maxDocumentBytes: MAX_SERVER_BYTES };
    if (kind === 'plugin' || kind === 'blockedPlugin') {
      const found =
        kind === 'plugin' ? await visiblePlugins(sql, page) : await blockedPlugins(sql, blocked, page);
      const rows = found
        .slice(0, SERVERS_PER_PAGE)
        .flatMap(({ servers, ...row }) => (servers ? [{ ...row, servers }] : []));
      return { rows, isLast: rows.length === found.length };
    }
    const found =
      kind === 'blocked'
        ? await blockedVersions(sql, blocked, page)
        : await readList(sql, 'server', { ...page, filter: FILTERS[kind] }, this.rowsPerName);
    const rows = withinPage(found.slice(0, SERVERS_PER_PAGE));
    return { rows, isLast: rows.length === found.length };
  }
}

type PluginRow = PluginVersion & Position;

/** The kinds of versions in an allow-list. */
const LISTED_KINDS = ['latest', 'plugin'] as const satisfies readonly VersionKind[];
const DENIED_KINDS = ['denied', 'blocked', 'blockedPlugin'] as const satisfies readonly VersionKind[];

function isListed(kind: VersionKind): kind is (typeof LISTED_KINDS)[number] {
  return (LISTED_KINDS as readonly VersionKind[]).includes(kind);
}

function partOf(
  config: ClientConfig,
  found: VersionRow | PluginRow,
  isAllowed: boolean,
  excluded: ReadonlySet<string>,
): ConfigPart {
  if ('servers' in found)
    return isAllowed ? config.ofPlugin(found, excluded) : config.deniedPlugin(found, excluded);
  return isAllowed ? config.of(found) : config.denied(found, excluded);
}

function lengthOf(found: VersionRow | PluginRow): number {
  return 'servers' in found ? JSON.stringify(found.servers).length : found.document.length;
}

/**
 * Builds a client's file from the servers in the view (reference/client-config). Reads the list page by page; each
 * statement checks that the view is current, so the result reflects one state of the catalog.
 *
 * @throws LongConfig
 */
export async function clientConfigPage(
  sql: ViewSql,
  request: ConfigRequest,
  reader: ConfigReader,
): Promise<PageBody> {
  const config = new ClientConfig(request.client, request.form, request.plugins);
  const parts: ConfigPart[] = [];
  let characters = 0;
  let after: ConfigPosition | null = null;
  do {
    const page: PartPage = await reader.parts(sql, request, config, after);
    parts.push(...page.parts);
    characters += page.characters;
    after = page.next;
    // The rest of a view that is out of date isn't worth reading, and its first part must never be served alone.
    if (parts.length > MAX_SERVERS || characters > MAX_CHARACTERS || (after && !sql.check.isCurrent))
      throw new LongConfig();
  } while (after);
  const text: Buffer[] = [];
  const all = async (key: string) => ({ items: await config.itemsOf(key, parts), next: null });
  for await (const bytes of config.text(all)) text.push(bytes);
  const omitted = parts.reduce((count, part) => count + elements(part[OMITTED]).length, 0);
  return { parts: text, headers: headersOf(request, omitted) };
}

/** @param omitted the number of servers without an entry. */
export function headersOf({ client }: ClientConfigFile, omitted: number): Readonly<Record<string, string>> {
  return { 'Content-Type': syntaxOf(client).mediaType, 'X-Omitted-Count': String(omitted) };
}
