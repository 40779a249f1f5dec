import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { MAX_SHOWN_SKIPPED, type SkippedEntry } from '../documents/incoming-version.js';
import { NEXT_RUN_AT } from './source-leases.queries.js';
import { SourceState, type SyncStatus } from './source.entity.js';

/** What a run reports of the content of its source. */
export interface SourceReport {
  readonly counts: Readonly<Record<string, number>>;
  readonly skipped: readonly SkippedEntry[];
}

/** What a run that has written leaves behind. */
export interface RunResult extends SourceReport {
  readonly contentDigest: Buffer | null;
  readonly fetchState: object;
}

/** How the watch of a cluster is doing. */
export interface WatchState {
  readonly status: Exclude<SyncStatus, 'pending'>;
  readonly error: string | null;
  /** Failures in a row. */
  readonly attempts: number;
}

/** SQL: a permission to shrink is for the run that began after it, however that ends; one that was cut off has not ended. */
const OPEN_PERMISSION = `case when shrink_allowed_at >= last_attempt_at then shrink_allowed_at end`;

/** SQL: a request is fulfilled when a run that began after it has succeeded. */
const OPEN_REQUEST = `case when requested_at >= last_attempt_at then requested_at end`;

/**
 * When a source is synced next, and how its last run ended. With SourceLeases, which says who may run it now, the only
 * writer of `source_sync`. Each method runs inside its caller's transaction.
 */
@Injectable()
export class SourceStates {
  /** The state of a source that was just made; one that is synced is due at once. */
  async create(manager: EntityManager, sourceId: number, isSynced: boolean): Promise<SourceState> {
    const [row] = await manager.query<ScheduleRow[]>(
      `insert into source_sync (source_id, next_run_at) values ($1, case when $2 then now() end)
       returning next_run_at as "nextRunAt"`,
      [sourceId, isSynced],
    );
    return manager.create(SourceState, {
      sourceId,
      status: 'pending',
      attempts: 0,
      lastAttemptAt: null,
      lastSuccessAt: null,
      ...row,
      error: null,
      counts: {},
      skipped: [],
    });
  }

  /** The settings or the filter have changed: everything is read anew, and a run under way writes nothing. */
  async forget(manager: EntityManager, sourceId: number, isSynced: boolean): Promise<Date | null> {
    return this.schedule(
      manager,
      `update source_sync set content_digest = null, fetch_state = null, lease_owner = null, lease_until = null,
         next_run_at = case when $2 then now() end
       where source_id = $1 returning next_run_at as "nextRunAt"`,
      [sourceId, isSynced],
    );
  }

  /** The interval has changed: the next run comes no later than it says. */
  async reschedule(
    manager: EntityManager,
    sourceId: number,
    intervalMs: number | null,
  ): Promise<Date | null> {
    return this.schedule(
      manager,
      `update source_sync set next_run_at = least(next_run_at, now() + $2 * interval '1 millisecond')
       where source_id = $1 returning next_run_at as "nextRunAt"`,
      [sourceId, intervalMs],
    );
  }

  /** A sync of the source is due now, and may lose most of its entries; one under way is followed by another. */
  async request(manager: EntityManager, sourceId: number, allowShrink = false): Promise<Date | null> {
    return this.schedule(
      manager,
      `update source_sync set requested_at = clock_timestamp(),
         next_run_at = case when lease_until > now() then next_run_at else now() end,
         shrink_allowed_at = case when $2 then clock_timestamp() else shrink_allowed_at end
       where source_id = $1 returning next_run_at as "nextRunAt"`,
      [sourceId, allowShrink],
    );
  }

  /** Every source of the configuration that is synced is due now. */
  async scheduleConfigured(manager: EntityManager): Promise<void> {
    await manager.query(
      `update source_sync y set next_run_at = now() from source s
       where s.id = y.source_id and s.origin = 'config' and s.interval_ms is not null`,
    );
  }

  /** Whether what the source holds was read by its present settings and filter: every sync that succeeds leaves a state. */
  async isRead(manager: EntityManager, sourceId: number): Promise<boolean> {
    const rows = await manager.query<object[]>(
      `select 1 from source_sync where source_id = $1 and fetch_state is not null`,
      [sourceId],
    );
    return rows.length > 0;
  }

  /**
   * Ends a run that has written what it read.
   *
   * @returns false when the lease was lost meanwhile: what was written must not stay.
   */
  async complete(
    manager: EntityManager,
    owner: string,
    sourceId: number,
    nextInMs: number,
    result: RunResult,
  ): Promise<boolean> {
    return this.writeIfHeld(
      manager,
      `update source_sync set status = 'complete', attempts = 0, error = null, last_success_at = now(),
         requested_at = ${OPEN_REQUEST}, shrink_allowed_at = ${OPEN_PERMISSION}, next_run_at = ${NEXT_RUN_AT}, lease_owner = null, lease_until = null,
         content_digest = $4, fetch_state = $5, counts = $6, skipped = $7
       where source_id = $2 and lease_owner = $1`,
      [
        owner,
        sourceId,
        nextInMs,
        result.contentDigest,
        JSON.stringify(result.fetchState),
        JSON.stringify(result.counts),
        JSON.stringify(result.skipped),
      ],
    );
  }

  /** Ends a run that found the content of the last success. @returns false when the lease was lost meanwhile. */
  async completeUnchanged(
    manager: EntityManager,
    owner: string,
    sourceId: number,
    nextInMs: number,
    fetchState: object,
  ): Promise<boolean> {
    return this.writeIfHeld(
      manager,
      `update source_sync set status = 'complete', attempts = 0, error = null, last_success_at = now(),
         requested_at = ${OPEN_REQUEST}, shrink_allowed_at = ${OPEN_PERMISSION}, next_run_at = ${NEXT_RUN_AT}, lease_owner = null, lease_until = null,
         fetch_state = $4
       where source_id = $2 and lease_owner = $1`,
      [owner, sourceId, nextInMs, JSON.stringify(fetchState)],
    );
  }

  /** Ends a run that has failed. @returns false when the lease was lost meanwhile. */
  async fail(
    manager: EntityManager,
    owner: string,
    sourceId: number,
    nextInMs: number,
    error: string,
  ): Promise<boolean> {
    return this.writeIfHeld(
      manager,
      `update source_sync set status = 'failed', error = $4, next_run_at = ${NEXT_RUN_AT},
         shrink_allowed_at = ${OPEN_PERMISSION},
         lease_owner = null, lease_until = null
       where source_id = $2 and lease_owner = $1`,
      [owner, sourceId, nextInMs, error],
    );
  }

  /** What the last run that wrote has reported. */
  async lastReport(manager: EntityManager, sourceId: number): Promise<SourceReport> {
    return manager.findOneOrFail(SourceState, {
      select: { sourceId: true, counts: true, skipped: true },
      where: { sourceId },
    });
  }

  /**
   * A watch has written what it knows of its cluster. The lease stays.
   *
   * @param isWhole whether that is all of the cluster, so that the source equals it now.
   * @returns false when the lease was lost meanwhile: what was written must not stay.
   */
  async recordWatchWrite(
    manager: EntityManager,
    owner: string,
    sourceId: number,
    { counts, skipped }: SourceReport,
    isWhole: boolean,
  ): Promise<boolean> {
    return this.writeIfHeld(
      manager,
      `update source_sync set last_success_at = case when $5 then now() else last_success_at end, counts = $3, skipped = $4
       where source_id = $2 and lease_owner = $1`,
      [owner, sourceId, JSON.stringify(counts), JSON.stringify(skipped.slice(0, MAX_SHOWN_SKIPPED)), isWhole],
    );
  }

  /** Keeps what a watch is doing, if its replica still holds the lease. */
  async saveWatchState(
    manager: EntityManager,
    owner: string,
    sourceId: number,
    { status, error, attempts }: WatchState,
  ): Promise<boolean> {
    return this.writeIfHeld(
      manager,
      `update source_sync set status = $3, error = $4, attempts = $5,
         last_attempt_at = case when $5 > 0 then now() else last_attempt_at end
       where source_id = $2 and lease_owner = $1`,
      [owner, sourceId, status, error, attempts],
    );
  }

  private async writeIfHeld(manager: EntityManager, update: string, values: unknown[]): Promise<boolean> {
    const [, count] = await manager.query<[unknown[], number]>(update, values);
    return count > 0;
  }

  private async schedule(manager: EntityManager, update: string, values: unknown[]): Promise<Date | null> {
    const [[row]] = await manager.query<[ScheduleRow[], number]>(update, values);
    return row?.nextRunAt ?? null;
  }
}

interface ScheduleRow {
  readonly nextRunAt: Date | null;
}
