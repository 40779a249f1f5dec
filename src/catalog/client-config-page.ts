import { LRUCache } from 'lru-cache';
import {
  ClientConfig,
  type ClientName,
  type ConfigForm,
  type ConfigPart,
  MAX_SERVER_BYTES,
  OMITTED,
  syntaxOf,
  type VersionKind,
} from '../client-config/client-config.js';
import { MAX_PAGE_BYTES } from '../http/lists.js';
import { TimeSlice } from '../json/time-slice.js';
import type { ViewSql } from '../visibility/freshness.queries.js';
import { type BlockedView, blockedVersions } from './blocked-versions.queries.js';
import { readList } from './list-strategies.js';
import type { ListFilter, Position } from './list-request.js';
import { type PageBody, type RowsPerName, type VersionRow, withinPage } from './page-body.js';

/** Limits of a configuration that is built in memory and cached; the documents count too. A longer one is streamed. */
const MAX_SERVERS = 10_000;
const MAX_CHARACTERS = 16 * 1_024 * 1_024;
/** Limits of a page, besides its size. */
const SERVERS_PER_PAGE = 250;

/** Thrown instead of returning a configuration that is too long to build in memory, or that changed while it was read. */
export class LongConfig extends Error {
  override readonly name = 'LongConfig';
}

/** A file of a client. */
export interface ClientConfigFile {
  readonly client: ClientName;
  readonly form: ConfigForm;
}

/** A file of a client; `blocked` is set if it lists what is denied. */
export interface ConfigRequest extends ClientConfigFile {
  readonly blocked?: BlockedView;
}

/** The last version read: its kind and, unless the kind begins, its position in the list. */
export interface ConfigPosition {
  readonly kind: VersionKind;
  readonly after: Position | null;
}

/** The parts of some servers, in the order of names, and the position to continue from; null after the last page. */
export interface PartPage {
  readonly parts: readonly ConfigPart[];
  /** The length of the documents and the parts. */
  readonly characters: number;
  readonly next: ConfigPosition | null;
}

const FILTERS = {
  latest: { version: 'latest' },
  denied: { status: 'deleted', includeDeleted: true },
} as const satisfies Record<Exclude<VersionKind, 'blocked'>, ListFilter>;

/** Keys of all cached sets: a key takes about 100 bytes. */
const MAX_LISTED_KEYS = 200_000;

/** Reads the servers of views and builds their parts of a configuration. */
export class ConfigReader {
  /** The connections of the listed servers, by view and client. */
  private readonly listed = new LRUCache<string, ReadonlySet<string>>({
    maxSize: MAX_LISTED_KEYS,
    sizeCalculation: ({ size }) => size + 1,
  });

  constructor(private readonly rowsPerName: RowsPerName) {}

  /** Reads the next servers of the view, each in its latest version, then the versions to deny. */
  async parts(
    sql: ViewSql,
    request: ConfigRequest,
    config: ClientConfig,
    from: ConfigPosition | null,
  ): Promise<PartPage> {
    const [first = 'latest'] = config.kinds;
    const { kind, after } = from ?? { kind: first, after: null };
    const listed = kind === 'latest' ? new Set<string>() : await this.listedKeys(sql, request, config);
    const parts: ConfigPart[] = [];
    let characters = 0;
    const next = await this.versions(sql, kind, request, after, (version) => {
      const part = kind === 'latest' ? config.of(version) : config.denied(version, listed);
      parts.push(part);
      characters += version.document.length + JSON.stringify(part).length;
      return characters <= MAX_PAGE_BYTES;
    });
    if (next) return { parts, characters, next: { kind, after: next } };
    const following = config.kinds[config.kinds.indexOf(kind) + 1];
    return { parts, characters, next: following ? { kind: following, after: null } : null };
  }

  // A deny-list must not block listed servers, whatever their names.
  private async listedKeys(
    sql: ViewSql,
    request: ConfigRequest,
    config: ClientConfig,
  ): Promise<ReadonlySet<string>> {
    const key = `${sql.view.tag} ${request.client}`;
    const cached = this.listed.get(key);
    if (cached) return cached;
    const keys = new Set<string>();
    let after: Position | null = null;
    do {
      after = await this.versions(sql, 'latest', request, after, (server) => {
        for (const listed of config.listedKeys(server)) keys.add(listed);
        return true;
      });
    } while (after !== null);
    if (sql.isCurrent) this.listed.set(key, keys);
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
    add: (version: VersionRow) => boolean,
  ): Promise<Position | null> {
    const page = { limit: SERVERS_PER_PAGE, after, maxDocumentBytes: MAX_SERVER_BYTES };
    const found =
      kind === 'blocked'
        ? await blockedVersions(sql, blocked?.visible ?? [], page)
        : await readList(sql, 'server', { ...page, filter: FILTERS[kind] }, this.rowsPerName);
    const slice = new TimeSlice();
    let last: VersionRow | undefined;
    let count = 0;
    for (const version of withinPage(found.slice(0, SERVERS_PER_PAGE))) {
      await slice.pause();
      last = version;
      count += 1;
      if (!add(version)) break;
    }
    if (!last || count === found.length) return null;
    // No key sorts below the empty string, so no name is read twice, even if its latest version changes meanwhile.
    return { name: last.name, key: kind === 'latest' ? '' : last.key };
  }
}

/**
 * Builds a file of a client from the servers in the view (reference/client-config). Reads the list page by page; each statement checks that the view is current, so the result reflects one state
 * of the catalog.
 *
 * @throws LongConfig
 */
export async function clientConfigPage(
  sql: ViewSql,
  request: ConfigRequest,
  reader: ConfigReader,
): Promise<PageBody> {
  const config = new ClientConfig(request.client, request.form);
  const parts: ConfigPart[] = [];
  let characters = 0;
  let after: ConfigPosition | null = null;
  do {
    const page: PartPage = await reader.parts(sql, request, config, after);
    parts.push(...page.parts);
    characters += page.characters;
    after = page.next;
    // The rest of a view that is out of date isn't worth reading, and its first part must never be served alone.
    if (parts.length > MAX_SERVERS || characters > MAX_CHARACTERS || (after && !sql.isCurrent))
      throw new LongConfig();
  } while (after);
  const text: Buffer[] = [];
  const all = async (key: string) => ({ items: await config.itemsOf(key, parts), next: null });
  for await (const bytes of config.text(all)) text.push(bytes);
  return { parts: text, headers: headersOf(request, parts.filter((part) => OMITTED in part).length) };
}

/** @param omitted the number of versions without an entry. */
export function headersOf({ client }: ClientConfigFile, omitted: number): Readonly<Record<string, string>> {
  return { 'Content-Type': syntaxOf(client).mediaType, 'X-Omitted-Count': String(omitted) };
}
