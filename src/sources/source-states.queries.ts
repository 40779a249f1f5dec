import { Injectable } from '@nestjs/common';
import { type EntityManager, In, IsNull, Not, type QueryDeepPartialEntity } from 'typeorm';
import { timeIn } from '../database/sql-expressions.js';
import { MAX_SHOWN_SKIPPED, type SkippedVersion } from '../documents/entry-types.js';
import type { SourceFormat } from '../source-kinds/source-formats.js';
import { nextRunAt } from './retry.js';
import { type Source, SourceState, type SyncStatus } from './source.entity.js';

/** The counts and skipped entries of a run. */
export interface SourceReport {
  readonly counts: Readonly<Record<string, number>>;
  readonly skipped: readonly SkippedVersion[];
}

/** The result of a run; only one that wrote entries has a report and a format. */
interface RunResult extends Partial<SourceReport> {
  readonly fetchState: object;
  readonly format?: SourceFormat | null;
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
    const rows = sources.map(({ id, intervalMs }) => ({
      sourceId: id,
      nextRunAt: intervalMs === null ? null : () => 'now()',
    }));
    await manager.insert(SourceState, rows);
    const states = await manager.findBy(SourceState, { sourceId: In(sources.map(({ id }) => id)) });
    const byId = new Map(sources.map((source) => [source.id, source]));
    for (const state of states) Object.assign(byId.get(state.sourceId) ?? {}, { state });
  }

  /**
   * Resets the state after a settings or filter change. The next sync reads everything; a running sync cannot write.
   */
  async forget(manager: EntityManager, sourceId: number, isSynced: boolean): Promise<Date | null> {
    return this.schedule(manager, sourceId, {
      ...{ fetchState: null, leaseOwner: null, leaseUntil: null },
      nextRunAt: isSynced ? () => 'now()' : null,
    });
  }

  /** Brings the next run forward if a new interval requires it. */
  async reschedule(
    manager: EntityManager,
    sourceId: number,
    intervalMs: number | null,
  ): Promise<Date | null> {
    const latest = intervalMs === null ? 'null' : timeIn(intervalMs)();
    return this.schedule(manager, sourceId, { nextRunAt: () => `least(next_run_at, ${latest})` });
  }

  /**
   * Requests a sync now, or after the current one.
   *
   * @param allowShrink disables the shrink guard for that run.
   */
  async request(manager: EntityManager, sourceId: number, allowShrink = false): Promise<void> {
    const now = () => 'clock_timestamp()';
    await this.schedule(manager, sourceId, {
      requestedAt: now,
      nextRunAt: () => 'case when lease_until > now() then next_run_at else now() end',
      ...(allowShrink ? { shrinkAllowedAt: now } : {}),
    });
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
  isRead(manager: EntityManager, sourceId: number): Promise<boolean> {
    return manager.existsBy(SourceState, { sourceId, fetchState: Not(IsNull()) });
  }

  /**
   * Ends a successful run.
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
    return this.writeIfHeld(manager, owner, sourceId, {
      ...ended(nextInMs),
      ...{ status: 'complete', attempts: 0, error: null },
      lastSuccessAt: () => 'now()',
      requestedAt: () => OPEN_REQUEST,
      ...result,
    });
  }

  /** Recounts the entries of these sources after something other than a sync held or admitted versions. */
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

  /**
   * Ends a failed run.
   *
   * @returns false if the lease was lost.
   */
  async fail(
    manager: EntityManager,
    owner: string,
    sourceId: number,
    nextInMs: number,
    error: string,
  ): Promise<boolean> {
    return this.writeIfHeld(manager, owner, sourceId, { ...ended(nextInMs), status: 'failed', error });
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
    return this.writeIfHeld(manager, owner, sourceId, {
      ...(isWhole ? { lastSuccessAt: () => 'now()' } : {}),
      counts,
      skipped: skipped.slice(0, MAX_SHOWN_SKIPPED),
    });
  }

  /** Stores the state of a watch if its replica still holds the lease. */
  async saveWatchState(
    manager: EntityManager,
    owner: string,
    sourceId: number,
    { status, error, attempts }: WatchState,
  ): Promise<boolean> {
    return this.writeIfHeld(manager, owner, sourceId, {
      ...{ status, error, attempts },
      ...(attempts > 0 ? { lastAttemptAt: () => 'now()' } : {}),
    });
  }

  private async writeIfHeld(
    manager: EntityManager,
    leaseOwner: string,
    sourceId: number,
    values: NewState,
  ): Promise<boolean> {
    const { affected } = await manager.update(SourceState, { sourceId, leaseOwner }, values);
    return affected === 1;
  }

  private async schedule(manager: EntityManager, sourceId: number, values: NewState): Promise<Date | null> {
    const { raw } = await manager
      .createQueryBuilder()
      .update(SourceState)
      .set(values)
      .where({ sourceId })
      .returning(['nextRunAt'])
      .execute();
    return (raw as { next_run_at: Date | null }[])[0]?.next_run_at ?? null;
  }
}

type NewState = QueryDeepPartialEntity<SourceState>;

/** The columns of a run that has ended, successfully or not. */
function ended(nextInMs: number): NewState {
  return {
    shrinkAllowedAt: () => OPEN_PERMISSION,
    nextRunAt: () => nextRunAt(nextInMs),
    leaseOwner: null,
    leaseUntil: null,
  };
}
