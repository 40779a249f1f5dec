import { Injectable } from '@nestjs/common';
import { PreparedStatements } from '../database/statements.js';
import type { EntryType } from '../documents/entry-types.js';
import { FRESHNESS, type CheckedRow, SnapshotCheck, ViewSql } from '../visibility/freshness.queries.js';
import { viewOfSources, type VisibleSource } from '../visibility/view.js';
import { hasShownStatus } from './list-request.js';
import { firstEntry, missingVersion, WHICH } from './version.queries.js';

/** One version of a name; the latest if `version` is undefined. */
export interface TracedName {
  readonly type: EntryType;
  readonly name: string;
  readonly version?: string;
}

/** The outcome of reading one version. */
export interface NameTrace {
  /** The source whose entry shadows all others; undefined if no entry is visible. */
  readonly sourceId?: number;
  /** The status of the version; undefined if the entry has no such version. */
  readonly status?: string;
  /** Error code of a 404 response; undefined if the version is shown. */
  readonly code?: 'entry_not_found' | 'version_not_found';
}

interface TraceRow extends CheckedRow {
  readonly sourceId: number | null;
  readonly status: string | null;
  readonly isShown: boolean | null;
  readonly hasLatest: boolean;
}

/**
 * Traces the read of one version (reference/explain). The SQL of `VersionLoader` decides visibility, shadowing and status,
 * so an explanation cannot differ from the response.
 */
@Injectable()
export class NameTraces {
  constructor(private readonly prepared: PreparedStatements) {}

  /** @param visible visible claim sets by source, in registry order. */
  async trace(
    visible: readonly VisibleSource[],
    { type, name, version = 'latest' }: TracedName,
  ): Promise<NameTrace> {
    const which = version === 'latest' ? 'latest' : 'exact';
    const sql = new ViewSql(this.prepared, new SnapshotCheck(viewOfSources(visible)));
    const [row] = await sql.query<TraceRow>(
      `
with ${FRESHNESS}
select freshness."isCurrent", e.source_id as "sourceId",
  asked.status, asked."isShown",
  exists (select from entry_version v where v.entry_id = e.id and ${WHICH.latest} and ${hasShownStatus()}) as "hasLatest"
from freshness left join ((${firstEntry('$name')}) first_entry join entry e on e.id = first_entry.id) on true
left join lateral (
  select v.status, ${hasShownStatus()} as "isShown" from entry_version v where v.entry_id = e.id and ${WHICH[which]}
) asked on true`,
      { type, name, version },
    );
    if (!row || row.sourceId === null) return { code: 'entry_not_found' };
    const { sourceId, status, isShown, hasLatest } = row;
    return {
      sourceId,
      ...(status === null ? {} : { status }),
      ...(isShown ? {} : { code: missingVersion(which, hasLatest) }),
    };
  }
}
