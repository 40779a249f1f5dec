import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Claims } from '../claims/claims.js';
import type { EntryFilterConfig, SourceKind } from '../config/config.js';
import type { Origin } from './source.entity.js';

export interface SourceRow {
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

  /** All sources by name, or the one with this name. */
  async find(name?: string): Promise<SourceRow[]> {
    return this.dataSource.query<SourceRow[]>(
      `select s.name, s.kind, s.settings, s.filter, s.interval_ms::float8 as "intervalMs", c.claims, s.origin,
         s.created_at as "createdAt", s.updated_at as "updatedAt", y.status, y.last_attempt_at as "lastAttemptAt",
         y.last_success_at as "lastSuccessAt", y.next_run_at as "nextRunAt", y.attempts, y.error, y.counts, y.skipped
       from source s join claim_set c on c.id = s.claim_set_id join source_sync y on y.source_id = s.id
       where $1::text is null or s.name = $1 order by s.name`,
      [name ?? null],
    );
  }
}
