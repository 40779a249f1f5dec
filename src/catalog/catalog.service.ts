import { Injectable } from '@nestjs/common';
import type { RegistryAccess } from '../views/view.js';
import { isStorable } from '../database/storable.js';
import { ENTRY_TYPES, type EntryType } from '../documents/entry-types.js';
import { officialMeta } from '../documents/official-meta.js';
import { ApiError } from '../http/errors.js';
import type { CachedJson } from '../http/json-answers.js';
import { CatalogQueries, type VersionRow } from './pages/catalog.queries.js';
import { type ListRequest, nextCursor } from './pages/list-request.js';
import { PageCache } from './page-cache.js';
import type { Reading } from './pages/snapshot-check.js';

/**
 * A page ends before its documents are longer than this together, and the next one goes on. A hundred documents of a
 * megabyte would be in memory whole, once for each reader who takes their time.
 */
const PAGE_CHARACTERS = 8 * 1024 * 1024;

/** What the consumer API shows to who has entered a registry. Bodies are put together from stored text. */
@Injectable()
export class CatalogService {
  constructor(
    private readonly queries: CatalogQueries,
    private readonly pages: PageCache,
  ) {}

  list(access: RegistryAccess, type: EntryType, request: ListRequest): Promise<CachedJson> {
    return this.pages.get(access, question('list', type, request), (reading) =>
      this.readList(reading, type, request),
    );
  }

  versions(
    access: RegistryAccess,
    type: EntryType,
    name: string,
    includeDeleted: boolean,
  ): Promise<CachedJson> {
    return this.pages.get(access, question('versions', type, name, includeDeleted), async (reading) => {
      const rows = isStorable(name) ? await this.queries.versions(reading, type, name, includeDeleted) : [];
      if (rows.length === 0) throw new ApiError('entry_not_found');
      return listBody(type, rows);
    });
  }

  version(access: RegistryAccess, type: EntryType, name: string, version: string): Promise<CachedJson> {
    return this.pages.get(access, question('version', type, name, version), (reading) =>
      this.readVersion(reading, type, name, version),
    );
  }

  private async readList(reading: Reading, type: EntryType, request: ListRequest): Promise<string> {
    const found = await this.queries.page(reading, type, request);
    const rows = withinPage(found.slice(0, request.limit));
    const last = rows.at(-1);
    const cursor = last && found.length > rows.length ? nextCursor(type, request, last) : undefined;
    return listBody(type, rows, cursor);
  }

  private async readVersion(
    reading: Reading,
    type: EntryType,
    name: string,
    version: string,
  ): Promise<string> {
    if (!isStorable(name)) throw new ApiError('entry_not_found');
    const row = isStorable(version)
      ? await this.queries.findVersion(reading, type, name, version)
      : undefined;
    if (row) return itemOf(type, row);
    throw new ApiError(
      (await this.queries.has(reading, type, name)) ? 'version_not_found' : 'entry_not_found',
    );
  }
}

// At least one, however long it is.
function withinPage(rows: readonly VersionRow[]): readonly VersionRow[] {
  let characters = 0;
  const tooMany = rows.findIndex(({ document }) => (characters += document.length) > PAGE_CHARACTERS);
  return tooMany === -1 ? rows : rows.slice(0, Math.max(1, tooMany));
}

function question(...parts: unknown[]): string {
  return JSON.stringify(parts);
}

function listBody(type: EntryType, rows: readonly VersionRow[], cursor?: string): string {
  const metadata = { count: rows.length, ...(cursor ? { nextCursor: cursor } : {}) };
  const { listKey } = ENTRY_TYPES[type];
  return `{"${listKey}":[${rows.map((row) => itemOf(type, row)).join(',')}],"metadata":${JSON.stringify(metadata)}}`;
}

function itemOf(type: EntryType, row: VersionRow): string {
  return ENTRY_TYPES[type].isShownBare
    ? row.document
    : `{"${type}":${row.document},"_meta":${officialMeta(row)}}`;
}
