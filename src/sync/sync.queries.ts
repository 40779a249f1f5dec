import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { DataSource, type EntityManager, In, IsNull, Not, Repository } from 'typeorm';
import { AdmissionItem } from '../admission/admission.entity.js';
import { isRemovedItem } from '../admission/held-items.queries.js';
import { isOneOf } from '../database/sql-expressions.js';
import { LIVE_STATUSES } from '../documents/statuses.js';
import { Entry } from '../entry-store/entry.entity.js';
import { MANAGED_KIND, SOURCE_KINDS } from '../source-kinds/kinds.js';
import { namedFiles } from '../source-kinds/named-files.js';
import { Source, SourceState } from '../sources/source.entity.js';

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

/** The versions and changes that admission holds for a source. */
interface HeldFigures {
  readonly source: string;
  readonly kind: string;
  readonly held: number;
  /** Held versions that are due. */
  readonly due: number;
  /** Age, in seconds, of the oldest item that needs a decision; 0 if there is none. */
  readonly oldest: number;
}

/** SQL: how long an item has been waiting, in seconds. */
const AGE = 'extract(epoch from now() - item.createdAt)';

/** The settings that contain the path of a local file with entries. */
const CONTENT_FILES = SOURCE_KINDS.flatMap((kind) =>
  namedFiles(kind, undefined)
    .filter(({ use }) => use === 'content')
    .map(({ path }) => ({ kind, path: path.join('.') })),
);

/** Reads the sync states of all sources; SourceStates and SourceLeases write them. */
@Injectable()
export class SyncQueries {
  constructor(
    private readonly dataSource: DataSource,
    @InjectRepository(SourceState) private readonly states: Repository<SourceState>,
  ) {}

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
    const states = await this.states.find({
      select: {
        ...{ sourceId: true, status: true, attempts: true, lastSuccessAt: true, counts: true },
        source: { id: true, name: true, kind: true, intervalMs: true },
      },
      relations: { source: true },
      where: { source: { kind: Not(MANAGED_KIND) } },
    });
    return states.map(({ source, status, attempts, lastSuccessAt, counts }) => ({
      source: source.name,
      kind: source.kind,
      status,
      failures: Math.max(attempts - (status === 'syncing' ? 1 : 0), 0),
      lastSuccess: lastSuccessAt && lastSuccessAt.getTime() / 1_000,
      interval: source.intervalMs && source.intervalMs / 1_000,
      entries: counts['entries'] ?? null,
      skipped: counts['skipped'] ?? null,
    }));
  }

  /** Returns the versions and changes that admission holds, by source (reference/admission). */
  async heldFigures(): Promise<HeldFigures[]> {
    return this.states.manager
      .createQueryBuilder(Source, 'source')
      .leftJoin(
        AdmissionItem,
        'item',
        `item.sourceId = source.id and item.status = 'held' and not ${isRemovedItem('item')}`,
      )
      .select('source.name', 'source')
      .addSelect('source.kind', 'kind')
      .addSelect('count(item.id)::int', 'held')
      .addSelect('(count(item.id) filter (where item.dueAt <= now()))::int', 'due')
      .addSelect(`coalesce(max(${AGE}) filter (where item.dueAt is null), 0)::float8`, 'oldest')
      .groupBy('source.id')
      .getRawMany<HeldFigures>();
  }

  /** Counts the sources that have not finished their first run or first cluster list, successfully or not. */
  async countNeverRun(): Promise<number> {
    return this.states.countBy({
      source: { kind: Not(MANAGED_KIND) },
      lastSuccessAt: IsNull(),
      status: In(['pending', 'syncing']),
    });
  }
}

/** Counts the entries of a source that have a live version. */
export function countLiveEntries(manager: EntityManager, sourceId: number): Promise<number> {
  return manager
    .createQueryBuilder(Entry, 'entry')
    .where({ sourceId })
    .andWhere(
      `exists (select from entry_version v where v.entry_id = entry.id and ${isOneOf('v.status', LIVE_STATUSES)})`,
    )
    .getCount();
}
