import { Injectable } from '@nestjs/common';
import { hasShownStatus } from '../catalog/list-request.js';
import { firstEntry } from '../catalog/version.queries.js';
import { PreparedStatements } from '../database/statements.js';
import type { EntryType } from '../documents/entry-types.js';
import { isStorable } from '../validation/storable-text.js';
import { FRESHNESS, type CheckedRow, readCurrent } from '../visibility/freshness.queries.js';
import { type RegistryAccess, RegistryViews } from '../visibility/registry-views.js';

const CONTENT_OF_VERSION = `
with ${FRESHNESS}
select freshness."isCurrent", found.digest
from freshness left join (
  select encode(c.tree, 'hex') as digest
  from (${firstEntry('$name')}) first_entry join entry_version v on v.entry_id = first_entry.id join version_content c on c.version_id = v.id
  where case when $version = 'latest' then v.is_latest else v.version = $version end
    and ${hasShownStatus()}
) found on true`;

/** Finds content visible to a caller, by the conditions of the lists (reference/catalog, reference/content). */
@Injectable()
export class VisibleContent {
  constructor(
    private readonly prepared: PreparedStatements,
    private readonly views: RegistryViews,
  ) {}

  /**
   * Returns the digest of a version's tree; null if the caller does not see the version, or it has no content.
   *
   * @param version exact, or `latest`.
   * @throws ApiError as `RegistryViews.verify`; 503 `database_timeout` if the view changes during every read.
   */
  async digestOf(
    access: RegistryAccess,
    { type, name, version }: { readonly type: EntryType; readonly name: string; readonly version: string },
  ): Promise<string | null> {
    if (!isStorable(name) || !isStorable(version)) return null;
    const rows = await readCurrent<CheckedRow & { readonly digest: string | null }>(
      this.prepared,
      async () => (await this.views.verify(access)).view,
      CONTENT_OF_VERSION,
      { type, name, version },
    );
    return rows?.[0]?.digest ?? null;
  }
}
