import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { KINDS, type SettingsOf, SOURCE_KINDS, type SyncedKind } from '../source-kinds/kinds.js';
import type { EntryFilter } from '../sources/entry-filter.js';
import type { Origin } from '../sources/source.entity.js';
import type { SyncReport } from './sync-report.js';

/** A source whose lease a run of this replica holds; its kind gives the type of its settings. */
export type LeasedSource<K extends SyncedKind = SyncedKind> = {
  [P in K]: {
    readonly id: number;
    readonly name: string;
    readonly kind: P;
    readonly origin: Origin;
    readonly settings: SettingsOf<P>;
    readonly filter: EntryFilter | null;
    readonly intervalMs: number;
    readonly contentDigest: Buffer | null;
    /** As `SyncOutcome.fetchState`. */
    readonly fetchState: unknown;
    /** Runs since the last one that succeeded, this one included. */
    readonly attempts: number;
    /** Whether somebody has asked for a sync since the last one that succeeded. */
    readonly isRequested: boolean;
  };
}[K];

/** A file that a source is read from. */
export interface WatchedFile {
  readonly id: number;
  readonly path: string;
  readonly lastAttemptAt: Date | null;
}

/** What is told of a source to whoever watches over the server. Null: nothing yet. */
export interface SourceFigures {
  readonly source: string;
  readonly kind: string;
  readonly status: string;
  /** Failed runs since the last one that succeeded. */
  readonly failures: number;
  /** Seconds since 1970. */
  readonly lastSuccess: number | null;
  /** Seconds; null for what is watched. */
  readonly interval: number | null;
  readonly entries: number | null;
  readonly skipped: number | null;
}

export interface SyncOutcome extends SyncReport {
  readonly contentDigest: Buffer | null;
  readonly fetchState: object;
}

/** Kinds without a state of their syncs that says anything: what is published is not synced. */
const UNSYNCED = SOURCE_KINDS.filter((kind) => KINDS[kind].filledBy === 'publishing');

// A sync that was asked for while this one ran comes right after it. Otherwise up to a tenth later than said, so that
// sources that began together do not stay together.
function nextRun(ms: string): string {
  return `case when requested_at >= last_attempt_at then now()
    else now() + ${ms} * (1 + random() * 0.1) * interval '1 millisecond' end`;
}

// A request is done with when a run that began after it has succeeded.
const RUN_REQUEST = `case when requested_at >= last_attempt_at then requested_at end`;

/** The states of `source_sync`: who may run a source now, and how its last run ended. */
@Injectable()
export class SyncQueries {
  constructor(private readonly dataSource: DataSource) {}

  /** Takes the lease of the source that has been due longest, if any. A lease that ran out is free again. */
  async leaseDue(owner: string, leaseMs: number): Promise<LeasedSource | undefined> {
    const [rows] = await this.dataSource.query<[LeasedSource[], number]>(
      `update source_sync y set status = 'syncing', lease_owner = $1, attempts = y.attempts + 1, last_attempt_at = now(),
         lease_until = now() + $2 * interval '1 millisecond'
       from source s
       where s.id = y.source_id and y.source_id = (
         select d.source_id from source_sync d
         where d.next_run_at <= now() and (d.lease_until is null or d.lease_until < now())
         order by d.next_run_at limit 1 for update skip locked
       )
       returning s.id, s.name, s.kind, s.origin, s.settings, s.filter, s.interval_ms::float8 as "intervalMs",
         y.content_digest as "contentDigest", y.fetch_state as "fetchState", y.attempts,
         y.requested_at is not null as "isRequested"`,
      [owner, leaseMs],
    );
    return rows[0];
  }

  /** False: the lease is no longer this run's, because another has it or the source was changed or removed. */
  async renew(owner: string, sourceId: number, leaseMs: number): Promise<boolean> {
    return this.touch(
      `update source_sync set lease_until = now() + $3 * interval '1 millisecond'
       where source_id = $2 and lease_owner = $1`,
      [owner, sourceId, leaseMs],
    );
  }

  /**
   * Locks the source's row and, when this run still holds its lease and the settings are those the run began with,
   * returns the claim set its entries carry. Undefined: what was fetched is out of date and must not be written.
   */
  async lockForWrite(
    manager: EntityManager,
    owner: string,
    source: LeasedSource,
  ): Promise<number | undefined> {
    const rows = await manager.query<{ claim_set_id: number }[]>(
      `select s.claim_set_id from source s join source_sync y on y.source_id = s.id
       where s.id = $1 and y.lease_owner = $2 and s.settings = $3::jsonb and s.filter is not distinct from $4::jsonb
       for update of s`,
      [source.id, owner, JSON.stringify(source.settings), source.filter && JSON.stringify(source.filter)],
    );
    return rows[0]?.claim_set_id;
  }

  /** What the last run that wrote has reported. */
  async lastReport(manager: EntityManager, sourceId: number): Promise<SyncReport> {
    const [row] = await manager.query<SyncReport[]>(
      `select counts, skipped from source_sync where source_id = $1`,
      [sourceId],
    );
    if (!row) throw new Error('A source without a state of its syncs');
    return row;
  }

  /** False when the lease was lost while the rows were written: then they must not stay. */
  async complete(
    manager: EntityManager,
    owner: string,
    sourceId: number,
    outcome: SyncOutcome,
    nextInMs: number,
  ): Promise<boolean> {
    const [rows] = await manager.query<[object[], number]>(
      `update source_sync set status = 'complete', attempts = 0, last_success_at = now(), error = null,
         next_run_at = ${nextRun('$3')}, requested_at = ${RUN_REQUEST}, content_digest = $4, counts = $5, skipped = $6,
         fetch_state = $7,
         lease_owner = null, lease_until = null
       where source_id = $2 and lease_owner = $1 returning 1`,
      [
        owner,
        sourceId,
        nextInMs,
        outcome.contentDigest,
        JSON.stringify(outcome.counts),
        JSON.stringify(outcome.skipped),
        JSON.stringify(outcome.fetchState),
      ],
    );
    return rows.length > 0;
  }

  /** The content is what it was at the last success: only the times move. False as with `renew`. */
  async completeUnchanged(
    owner: string,
    sourceId: number,
    fetchState: object,
    nextInMs: number,
  ): Promise<boolean> {
    return this.touch(
      `update source_sync set status = 'complete', attempts = 0, last_success_at = now(), error = null,
         next_run_at = ${nextRun('$3')}, requested_at = ${RUN_REQUEST}, fetch_state = $4, lease_owner = null, lease_until = null
       where source_id = $2 and lease_owner = $1`,
      [owner, sourceId, nextInMs, JSON.stringify(fetchState)],
    );
  }

  /** False as with `renew`. */
  async fail(owner: string, sourceId: number, error: string, nextInMs: number): Promise<boolean> {
    return this.touch(
      `update source_sync set status = 'failed', error = $3, next_run_at = ${nextRun('$4')},
         lease_owner = null, lease_until = null
       where source_id = $2 and lease_owner = $1`,
      [owner, sourceId, error, nextInMs],
    );
  }

  /** The files on this machine that sources are read from. */
  async watchedFiles(): Promise<WatchedFile[]> {
    return this.dataSource.query<WatchedFile[]>(
      `select s.id, s.settings->>'path' as path, y.last_attempt_at as "lastAttemptAt"
       from source s join source_sync y on y.source_id = s.id where s.kind = 'file' and s.settings ? 'path'`,
    );
  }

  /** Hands these leases back: others, or this replica's successor, may run the sources at once. */
  async release(owners: readonly string[]): Promise<void> {
    await this.dataSource.query(
      `update source_sync set status = case when error is not null then 'failed' when last_success_at is null then 'pending' else 'complete' end,
         attempts = greatest(attempts - 1, 0), lease_owner = null, lease_until = null
       where lease_owner = any($1::uuid[])`,
      [owners],
    );
  }

  /** Of all sources that are kept current: what stands in their states. */
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

  /** How many sources have never ended a run, or their first list of a cluster, neither in success nor in failure. */
  async countNeverRun(): Promise<number> {
    const rows = await this.dataSource.query<{ count: number }[]>(
      `select count(*)::int as count from source_sync y join source s on s.id = y.source_id
       where s.kind <> all($1) and y.last_success_at is null and y.status in ('pending', 'syncing')`,
      [UNSYNCED],
    );
    return rows[0]?.count ?? 0;
  }

  // Whether the state was still ours to change.
  private async touch(update: string, values: unknown[]): Promise<boolean> {
    const [, count] = await this.dataSource.query<[unknown[], number]>(update, values);
    return count > 0;
  }
}
