import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { isOneOf } from '../database/statements.js';
import { LIVE_STATUSES } from '../documents/statuses.js';
import { MANAGED_KIND, SOURCE_KINDS } from '../source-kinds/kinds.js';
import { namedFiles } from '../source-kinds/named-files.js';

/** The local file of a source. */
interface WatchedFile {
  readonly id: number;
  readonly path: string;
  readonly lastAttemptAt: Date | null;
}

/** The metrics of a source; values are null until they are known. */
interface SourceFigures {
  readonly source: string;
  readonly kind: string;
  readonly status: string;
  /** Number of failed runs since the last success. */
  readonly failures: number;
  /** Unix time in seconds. */
  readonly lastSuccess: number | null;
  /** The sync interval in seconds; null for watched sources. */
  readonly interval: number | null;
  readonly entries: number | null;
  readonly skipped: number | null;
}

/** What admission holds of a source. */
interface HeldFigures {
  readonly source: string;
  readonly kind: string;
  readonly held: number;
  /** Versions whose time has come. */
  readonly due: number;
  /** Age, in seconds, of the oldest item that needs a decision; 0 if there is none. */
  readonly oldest: number;
}

/** The kinds that are neither synced nor watched. */
const UNSYNCED = [MANAGED_KIND];

/** The settings that name a local file with entries. */
const CONTENT_FILES = SOURCE_KINDS.flatMap((kind) =>
  namedFiles(kind, undefined)
    .filter(({ use }) => use === 'content')
    .map(({ path }) => ({ kind, path: path.join('.') })),
);

/** Reads the sync states of all sources; SourceStates and SourceLeases write them. */
@Injectable()
export class SyncQueries {
  constructor(private readonly dataSource: DataSource) {}

  /** Returns the local files of all sources. */
  async watchedFiles(): Promise<WatchedFile[]> {
    return this.dataSource.query<WatchedFile[]>(
      `select s.id, s.settings #>> n.path as path, y.last_attempt_at as "lastAttemptAt"
       from unnest($1::text[], $2::text[]) as c(kind, path)
       cross join string_to_array(c.path, '.') as n(path)
       join source s on s.kind = c.kind and s.settings #> n.path is not null
       join source_sync y on y.source_id = s.id`,
      [CONTENT_FILES.map(({ kind }) => kind), CONTENT_FILES.map(({ path }) => path)],
    );
  }

  /** Returns the metrics of all synced sources. The current attempt of a running sync does not count as a failure. */
  async figures(): Promise<SourceFigures[]> {
    return this.dataSource.query<SourceFigures[]>(
      `select s.name as source, s.kind, y.status, s.interval_ms::float8 / 1000 as interval,
         greatest(y.attempts - case when y.status = 'syncing' then 1 else 0 end, 0) as failures,
         extract(epoch from y.last_success_at)::float8 as "lastSuccess",
         (y.counts->>'entries')::int as entries, (y.counts->>'skipped')::int as skipped
       from source s join source_sync y on y.source_id = s.id where s.kind <> all($1)`,
      [UNSYNCED],
    );
  }

  /** Returns what admission holds of each source (reference/admission). */
  async heldFigures(): Promise<HeldFigures[]> {
    return this.dataSource.query<HeldFigures[]>(
      `select s.name as source, s.kind, count(i.id)::int as held,
         (count(i.id) filter (where i.due_at <= now()))::int as due,
         coalesce(max(extract(epoch from now() - i.created_at)) filter (where i.due_at is null), 0)::float8 as oldest
       from source s left join admission_item i on i.source_id = s.id and i.status = 'held'
       group by s.id`,
    );
  }

  /** Counts the sources that have not finished their first run or first cluster list, successfully or not. */
  async countNeverRun(): Promise<number> {
    const rows = await this.dataSource.query<{ count: number }[]>(
      `select count(*)::int as count from source_sync y join source s on s.id = y.source_id
       where s.kind <> all($1) and y.last_success_at is null and y.status in ('pending', 'syncing')`,
      [UNSYNCED],
    );
    return rows[0]?.count ?? 0;
  }
}

/** Counts the entries of a source that have a live version. */
export async function countLiveEntries(manager: EntityManager, sourceId: number): Promise<number> {
  const rows = await manager.query<{ count: number }[]>(
    `select count(*)::int as count from entry e
     where e.source_id = $1
       and exists (select 1 from entry_version v where v.entry_id = e.id and ${isOneOf('v.status', LIVE_STATUSES)})`,
    [sourceId],
  );
  return rows[0]?.count ?? 0;
}
