import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { MAX_SHOWN_SKIPPED, type SkippedEntry } from '../documents/entry-types.js';
import { NEXT_RUN_AT } from './source-leases.queries.js';
import { type Source, SourceState, type SyncStatus } from './source.entity.js';

/** The counts and skipped entries of a run. */
export interface SourceReport {
  readonly counts: Readonly<Record<string, number>>;
  readonly skipped: readonly SkippedEntry[];
}

/** The result of a run that wrote entries. */
export interface RunResult extends SourceReport {
  readonly contentDigest: Buffer | null;
  readonly fetchState: object;
}

/** The state of a cluster watch. */
export interface WatchState {
  readonly status: Exclude<SyncStatus, 'pending'>;
  readonly error: string | null;
  /** Number of consecutive failures. */
  readonly attempts: number;
}

/** SQL: a permission to shrink applies only to the first run that begins after it, even if that run fails. */
const OPEN_PERMISSION = `case when shrink_allowed_at >= last_attempt_at then shrink_allowed_at end`;

/** SQL: a sync request stays open until a run that began after the request succeeds. */
const OPEN_REQUEST = `case when requested_at >= last_attempt_at then requested_at end`;

/**
 * Stores each source's schedule and the result of its last run. Only this class and SourceLeases write `source_sync`.
 * Methods run inside the caller's transaction.
 */
@Injectable()
export class SourceStates {
  /** Creates the states of new sources; synced ones are due immediately. */
  async createAll(manager: EntityManager, sources: readonly Source[]): Promise<void> {
    const rows = await manager.query<(ScheduleRow & { sourceId: number })[]>(
      `insert into source_sync (source_id, next_run_at)
       select id, case when interval_ms is not null then now() end from source where id = any($1::int[])
       returning source_id as "sourceId", next_run_at as "nextRunAt"`,
      [sources.map(({ id }) => id)],
    );
    const created = new Map(rows.map((row) => [row.sourceId, row]));
    for (const source of sources)
      source.state = manager.create(SourceState, {
        status: 'pending',
        attempts: 0,
        lastAttemptAt: null,
        lastSuccessAt: null,
        error: null,
        counts: {},
        skipped: [],
        ...created.get(source.id),
      });
  }

  /**
   * Resets the state after a settings or filter change. The next sync reads everything; a running sync cannot write.
   */
  async forget(manager: EntityManager, sourceId: number, isSynced: boolean): Promise<Date | null> {
    return this.schedule(
      manager,
      `update source_sync set content_digest = null, fetch_state = null, lease_owner = null, lease_until = null,
         next_run_at = case when $2 then now() end
       where source_id = $1 returning next_run_at as "nextRunAt"`,
      [sourceId, isSynced],
    );
  }

  /** Brings the next run forward if a new interval requires it. */
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

  /** Requests a sync now, or after the current one. @param allowShrink disables the shrink guard for that run. */
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

  /** Makes every synced source from the configuration file due now, except those that are being synced. */
  async scheduleConfigured(manager: EntityManager): Promise<void> {
    await manager.query(
      `update source_sync y set next_run_at = now()
       where source_id in (
         select d.source_id from source_sync d join source s on s.id = d.source_id
         where s.origin = 'config' and s.interval_ms is not null and d.next_run_at > now()
           and (d.lease_until is null or d.lease_until < now())
         for update of d skip locked)`,
    );
  }

  /** Returns whether a sync has succeeded with the current settings and filter. */
  async isRead(manager: EntityManager, sourceId: number): Promise<boolean> {
    const rows = await manager.query<object[]>(
      `select 1 from source_sync where source_id = $1 and fetch_state is not null`,
      [sourceId],
    );
    return rows.length > 0;
  }

  /**
   * Ends a run that wrote entries.
   *
   * @returns false if the lease was lost: the caller must roll back.
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

  /** Counts the entries of sources again, after something other than a sync held or admitted versions. */
  async recount(
    manager: EntityManager,
    sources: readonly { readonly sourceId: number; readonly held: number }[],
  ): Promise<void> {
    await manager.query(
      `update source_sync y set counts = y.counts || jsonb_build_object('held', n.held, 'entries',
         (select count(*) from entry e join entry_version v on v.entry_id = e.id where e.source_id = y.source_id))
       from unnest($1::int[], $2::int[]) as n(source_id, held)
       where y.source_id = n.source_id and y.counts ? 'held'`,
      [sources.map(({ sourceId }) => sourceId), sources.map(({ held }) => held)],
    );
  }

  /** Ends a run that found unchanged content. @returns false if the lease was lost. */
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

  /** Ends a failed run. @returns false if the lease was lost. */
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

  /** Returns the report of the last run that wrote entries. */
  async lastReport(manager: EntityManager, sourceId: number): Promise<SourceReport> {
    return manager.findOneOrFail(SourceState, {
      select: { sourceId: true, counts: true, skipped: true },
      where: { sourceId },
    });
  }

  /**
   * Records a write by a watch, which keeps its lease.
   *
   * @param isWhole whether the entries now match the entire cluster.
   * @returns false if the lease was lost: the caller must roll back.
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

  /** Stores the state of a watch if its replica still holds the lease. */
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
