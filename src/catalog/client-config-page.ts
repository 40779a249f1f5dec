import {
  ClientConfig,
  type ClientName,
  type ConfigForm,
  type ConfigPart,
  itemsOf,
  MAX_DOCUMENT_BYTES,
  OMITTED,
} from '../client-config/client-config.js';
import { TimeSlice } from '../json/time-slice.js';
import { readList } from './list-strategies.js';
import type { Position } from './list-request.js';
import { type PageBody, type RowsPerName, withinPage } from './page-body.js';
import type { ViewSql } from './view-sql.queries.js';

/** Limits of a configuration that is built in memory and cached; the documents count too. A longer one is streamed. */
const MAX_SERVERS = 10_000;
const MAX_CHARACTERS = 16 * 1_024 * 1_024;
/** Limits of a page. */
const SERVERS_PER_PAGE = 250;
const CHARACTERS_PER_PAGE = 1_024 * 1_024;

/** Thrown instead of returning a configuration that is too long to build in memory. */
export class LongConfig extends Error {
  override readonly name = 'LongConfig';
}

/** The parts of some servers, in the order of names, and the position to continue from; null after the last page. */
export interface PartPage {
  readonly parts: readonly ConfigPart[];
  /** The length of the documents and the parts. */
  readonly characters: number;
  readonly next: Position | null;
}

/** Reads the next servers of the view, each in its latest version, and builds their parts of a configuration. */
export async function readParts(
  sql: ViewSql,
  config: ClientConfig,
  after: Position | null,
  rowsPerName: RowsPerName,
): Promise<PartPage> {
  const filter = { version: 'latest' };
  const request = { filter, limit: SERVERS_PER_PAGE, after, maxDocumentBytes: MAX_DOCUMENT_BYTES };
  const found = await readList(sql, 'server', request, rowsPerName);
  const slice = new TimeSlice();
  const parts: ConfigPart[] = [];
  let characters = 0;
  let last: Position | undefined;
  for (const server of withinPage(found.slice(0, SERVERS_PER_PAGE))) {
    if (characters > CHARACTERS_PER_PAGE) break;
    await slice.pause();
    const part = config.of(server);
    parts.push(part);
    characters += server.document.length + JSON.stringify(part).length;
    last = server;
  }
  // No key sorts below the empty string, so no name is read twice, even if its latest version changes meanwhile.
  const next = last && parts.length < found.length ? { name: last.name, key: '' } : null;
  return { parts, characters, next };
}

/**
 * Builds a client's configuration file or allow-list from the latest version of every server in the view (contract
 * §6.3). Reads the list page by page; each statement checks that the view is current, so the result reflects one state
 * of the catalog.
 *
 * @throws LongConfig
 */
export async function clientConfigPage(
  sql: ViewSql,
  { client, form }: { readonly client: ClientName; readonly form: ConfigForm },
  rowsPerName: RowsPerName,
): Promise<PageBody> {
  const config = new ClientConfig(client, form);
  const parts: ConfigPart[] = [];
  let characters = 0;
  for (let after: Position | null = null, isDone = false; !isDone;) {
    const page: PartPage = await readParts(sql, config, after, rowsPerName);
    parts.push(...page.parts);
    characters += page.characters;
    if (parts.length > MAX_SERVERS || characters > MAX_CHARACTERS) throw new LongConfig();
    after = page.next;
    isDone = after === null || !sql.isCurrent;
  }
  const text: Buffer[] = [];
  const all = async (key: string) => ({ items: await itemsOf(key, parts), next: null });
  for await (const bytes of config.text(all)) text.push(bytes);
  return { parts: text, headers: omittedHeader(parts.filter((part) => OMITTED in part).length) };
}

/** @param omitted the number of servers without an entry. */
export function omittedHeader(omitted: number): Readonly<Record<string, string>> {
  return { 'X-Omitted-Count': String(omitted) };
}
