import { ClientConfig, type ClientName, type ConfigForm } from '../client-config/client-config.js';
import { ApiError } from '../http/errors.js';
import { indentedJson } from '../json/json-text.js';
import { TimeSlice } from '../json/time-slice.js';
import { MAX_PAGE } from '../validation/value-checks.js';
import { readList } from './list-strategies.js';
import type { Position } from './list-request.js';
import { type PageBody, type RowsPerName, withinPage } from './page-body.js';
import type { ViewSql } from './view-sql.queries.js';

/** Limits memory use: the whole configuration is built at once. */
const MAX_SERVERS = 10_000;
const MAX_DOCUMENT_BYTES = 32 * 1_024 * 1_024;
/** Limits the output: small documents can produce long configurations. */
const MAX_CHARACTERS = 16 * 1_024 * 1_024;

/**
 * Builds a client's configuration file or allow-list from the latest version of every server in the view (contract
 * §6.3). Reads the list page by page; each statement checks that the view is current, so the result reflects one state
 * of the catalog.
 *
 * @throws ApiError 400 `too_many_servers`
 */
export async function clientConfigPage(
  sql: ViewSql,
  { client, form }: { readonly client: ClientName; readonly form: ConfigForm },
  rowsPerName: RowsPerName,
): Promise<PageBody> {
  const config = new ClientConfig(client, form);
  const slice = new TimeSlice();
  let [servers, bytes, isDone] = [0, 0, false];
  for (let after: Position | null = null; !isDone;) {
    const request = { filter: { version: 'latest' }, limit: MAX_PAGE, after };
    const found = await readList(sql, 'server', request, rowsPerName);
    const rows = withinPage(found.slice(0, MAX_PAGE));
    servers += rows.length;
    for (const { document } of rows) {
      await slice.pause();
      bytes += document.length;
      config.add(JSON.parse(document));
    }
    if (servers > MAX_SERVERS || bytes > MAX_DOCUMENT_BYTES || config.characters > MAX_CHARACTERS)
      throw new ApiError('too_many_servers');
    after = rows.at(-1) ?? null;
    isDone = found.length === rows.length || !sql.isCurrent;
  }
  return {
    parts: [`${await indentedJson(config.toJson())}\n`],
    headers: { 'X-Omitted-Count': String(config.omittedCount) },
  };
}
