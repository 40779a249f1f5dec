import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { Claims } from '../claims/claims.js';
import type { EntryFilterConfig, SourceKind } from '../config/config.js';
import { lockForChange } from '../database/locks.js';
import { isStorable } from '../database/storable.js';
import type { Origin } from './source.entity.js';

export interface SourceRow {
  readonly id: number;
  readonly name: string;
  readonly kind: SourceKind;
  readonly settings: Record<string, unknown>;
  readonly filter: EntryFilterConfig | null;
  readonly intervalMs: number | null;
  readonly claims: Claims;
  readonly origin: Origin;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly status: string;
  readonly lastAttemptAt: Date | null;
  readonly lastSuccessAt: Date | null;
  readonly nextRunAt: Date | null;
  readonly attempts: number;
  readonly error: string | null;
  readonly counts: Record<string, number>;
  readonly skipped: { name: string | null; version: string | null; reasons: string[] }[];
}

@Injectable()
export class SourcesQueries {
  constructor(private readonly dataSource: DataSource) {}

  /** All sources by name. */
  async all(): Promise<SourceRow[]> {
    return this.select(this.dataSource.manager, '');
  }

  async findByName(
    name: string,
    manager: EntityManager = this.dataSource.manager,
  ): Promise<SourceRow | undefined> {
    if (!isStorable(name)) return undefined;
    const [row] = await this.select(manager, 'where s.name = $1', [name]);
    return row;
  }

  /** The same, and nobody else changes the source until the transaction ends. */
  async lockByName(name: string, manager: EntityManager): Promise<SourceRow | undefined> {
    await lockForChange(manager, 'source', name);
    await manager.query(`select 1 from source where name = $1 for update`, [name]);
    return this.findByName(name, manager);
  }

  async registriesUsing(sourceId: number, manager: EntityManager): Promise<number> {
    const [row] = await manager.query<{ count: number }[]>(
      `select count(*)::int as count from registry_source where source_id = $1`,
      [sourceId],
    );
    return row?.count ?? 0;
  }

  async remove(sourceId: number, manager: EntityManager): Promise<void> {
    await manager.query(`delete from source where id = $1`, [sourceId]);
  }

  /** A sync of the source is due now; one that is under way is followed by another. */
  async requestSync(sourceId: number): Promise<void> {
    await this.dataSource.query(
      `update source_sync set requested_at = clock_timestamp(),
         next_run_at = case when lease_until > now() then next_run_at else now() end
       where source_id = $1`,
      [sourceId],
    );
  }

  private async select(
    manager: EntityManager,
    condition: string,
    values: unknown[] = [],
  ): Promise<SourceRow[]> {
    return manager.query<SourceRow[]>(
      `select s.id, s.name, s.kind, s.settings, s.filter, s.interval_ms::float8 as "intervalMs", c.claims, s.origin,
         s.created_at as "createdAt", s.updated_at as "updatedAt", y.status, y.last_attempt_at as "lastAttemptAt",
         y.last_success_at as "lastSuccessAt", y.next_run_at as "nextRunAt", y.attempts, y.error, y.counts, y.skipped
       from source s join claim_set c on c.id = s.claim_set_id join source_sync y on y.source_id = s.id
       ${condition} order by s.name`,
      values,
    );
  }
}
