import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { SourceState } from './source.entity.js';

/** The only writer of `source_sync`. Each method runs inside its caller's transaction, unless it says otherwise. */
@Injectable()
export class SourceStates {
  /** The state of a source that was just made; one that is synced is due at once. */
  async create(manager: EntityManager, sourceId: number, isSynced: boolean): Promise<SourceState> {
    const [row] = await manager.query<ScheduleRow[]>(
      `insert into source_sync (source_id, next_run_at) values ($1, case when $2 then now() end)
       returning next_run_at as "nextRunAt"`,
      [sourceId, isSynced],
    );
    const initial = {
      sourceId,
      status: 'pending',
      attempts: 0,
      lastAttemptAt: null,
      lastSuccessAt: null,
    } as const;
    return manager.create(SourceState, { ...initial, ...row, error: null, counts: {}, skipped: [] });
  }

  /** The settings or the filter have changed: all is read anew, and a run that is under way writes nothing. */
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

  /** A sync of the source is due now; one that is under way is followed by another. */
  async request(manager: EntityManager, sourceId: number): Promise<Date | null> {
    return this.schedule(
      manager,
      `update source_sync set requested_at = clock_timestamp(),
         next_run_at = case when lease_until > now() then next_run_at else now() end
       where source_id = $1 returning next_run_at as "nextRunAt"`,
      [sourceId],
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

  private async schedule(manager: EntityManager, update: string, values: unknown[]): Promise<Date | null> {
    const [[row]] = await manager.query<[ScheduleRow[], number]>(update, values);
    return row?.nextRunAt ?? null;
  }
}

interface ScheduleRow {
  readonly nextRunAt: Date | null;
}
