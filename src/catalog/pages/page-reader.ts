import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { hasNul } from '../../database/storable.js';
import type { EntryType } from '../../documents/entry-types.js';
import { ApiError } from '../../http/errors.js';
import { readList } from './list-reader.js';
import { type ListRequest, nextCursor, nextVersionsCursor, type VersionsRequest } from './list-request.js';
import { itemBody, listBody, withinPage } from './page-body.js';
import { nothingVisible, versionsOfName, type WhichVersions } from './page.queries.js';
import type { SnapshotCheck } from './snapshot-check.js';
import { isVersion, type FoundVersion } from './version-row.js';
import { ViewSql } from './view-sql.queries.js';

/** What a page shows beside the view: one page of a list, every version of one name, or one version (`latest` or exact). */
export type PageRequest =
  | { readonly page: 'list'; readonly type: EntryType; readonly list: ListRequest }
  | {
      readonly page: 'versions';
      readonly type: EntryType;
      readonly name: string;
      readonly versions: VersionsRequest;
    }
  | { readonly page: 'version'; readonly type: EntryType; readonly name: string; readonly version: string };

/** Reads pages from the database and writes their bodies. */
@Injectable()
export class PageReader {
  constructor(private readonly dataSource: DataSource) {}

  /**
   * The JSON text of a page of the view that is checked.
   *
   * @throws ApiError 404 `entry_not_found`, `version_not_found`.
   */
  async read(check: SnapshotCheck, request: PageRequest): Promise<string> {
    const sql = new ViewSql(this.dataSource, check);
    switch (request.page) {
      case 'list':
        return this.list(sql, request.type, request.list);
      case 'versions':
        return this.versions(sql, request.type, request.name, request.versions);
      case 'version':
        return this.version(sql, request.type, request.name, request.version);
    }
  }

  private async list(sql: ViewSql, type: EntryType, request: ListRequest): Promise<string> {
    const found = await readList(sql, type, request);
    const rows = withinPage(found.slice(0, request.limit));
    const last = rows.at(-1);
    const hasMore = found.length > rows.length;
    return listBody(type, rows, last && hasMore ? nextCursor(type, request, last) : undefined);
  }

  private async versions(
    sql: ViewSql,
    type: EntryType,
    name: string,
    request: VersionsRequest,
  ): Promise<string> {
    const which = request.includeDeleted ? 'all' : 'undeleted';
    const found = await readVersions(sql, type, name, which, undefined, request.after);
    if (found.length === 0 && request.after === null) throw new ApiError('entry_not_found');
    const rows = withinPage(found);
    const last = rows.at(-1);
    const hasMore = found.length > rows.length;
    return listBody(type, rows, last && hasMore ? nextVersionsCursor(name, request, last) : undefined);
  }

  private async version(sql: ViewSql, type: EntryType, name: string, version: string): Promise<string> {
    const [row] =
      version === 'latest'
        ? await readVersions(sql, type, name, 'latest')
        : await readVersions(sql, type, name, 'exact', version);
    if (row)
      return withinPage([row])
        .map((found) => itemBody(type, found))
        .join('');
    const isThere = version !== 'latest' && (await readVersions(sql, type, name, 'latest')).length > 0;
    throw new ApiError(isThere ? 'version_not_found' : 'entry_not_found');
  }
}

/** Versions of one name, newest first, from the first source whose entry is in the view. */
export async function readVersions(
  sql: ViewSql,
  type: EntryType,
  name: string,
  which: WhichVersions,
  version?: string,
  after: string | null = null,
): Promise<FoundVersion[]> {
  if (hasNul(name) || (version !== undefined && hasNul(version))) return [];
  if (sql.view.partitions.length === 0) return nothingVisible(sql);
  return (await versionsOfName(sql, type, name, which, version, after)).filter(isVersion);
}
