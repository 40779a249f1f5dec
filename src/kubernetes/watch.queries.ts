import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { WriteCounts } from '../entries/writer/entry-writer.js';
import type { SettingsOf } from '../source-kinds/kinds.js';
import type { EntryFilter } from '../sources/entry-filter.js';
import type { SkippedObject } from './read-object.js';

/** A source of kind kubernetes whose lease this replica holds. */
export interface WatchedSource {
  readonly id: number;
  readonly name: string;
  readonly settings: SettingsOf<'kubernetes'>;
  readonly filter: EntryFilter | null;
}

export type WatchStatus = 'syncing' | 'complete' | 'failed';

export interface WatchState {
  readonly status: WatchStatus;
  readonly error: string | null;
  readonly attempts: number;
}

export interface WatchOutcome {
  readonly counts: WriteCounts & Readonly<Record<'entries' | 'skipped' | 'filtered' | 'warnings', number>>;
  /** In the shape that the syncs of other kinds store. */
  readonly skipped: readonly (Omit<SkippedObject, 'outcome'> & { readonly type: 'server' })[];
}

const LEASE = (ms: string) => `now() + ${ms} * interval '1 millisecond'`;

/**
 * The states of sources that are watched. They are never due (`next_run_at` is null), so the scheduler of syncs lets them
 * alone; whoever holds the lease watches, and the lease of a replica that died is free when it has run out.
 */
@Injectable()
export class WatchQueries {
  constructor(private readonly dataSource: DataSource) {}

  /** Takes the leases of all sources of the kind that nobody holds. */
  async leaseFree(owner: string, leaseMs: number): Promise<WatchedSource[]> {
    const [rows] = await this.dataSource.query<[WatchedSource[], number]>(
      `update source_sync y set status = 'syncing', lease_owner = $1, lease_until = ${LEASE('$2')},
         last_attempt_at = now(), attempts = 0
       from source s
       where s.id = y.source_id and y.source_id in (
         select d.source_id from source_sync d join source k on k.id = d.source_id
         where k.kind = 'kubernetes' and d.lease_owner is distinct from $1::uuid
           and (d.lease_until is null or d.lease_until < now())
         for update of d skip locked
       )
       returning s.id, s.name, s.settings, s.filter`,
      [owner, leaseMs],
    );
    return rows;
  }

  /**
   * Renews this replica's leases that have less than `leaseMs - everyMs` left, and tells which sources are still its own: a
   * source that was changed or removed, or that another replica took over, is not. Those that are `healthy` are known to be
   * as the cluster is now.
   */
  async renew(
    owner: string,
    leaseMs: number,
    everyMs: number,
    healthy: readonly number[],
  ): Promise<number[]> {
    await this.dataSource.query(
      `update source_sync set lease_until = ${LEASE('$2')},
         last_success_at = case when source_id = any($4::int[]) then now() else last_success_at end
       where lease_owner = $1 and lease_until < ${LEASE('$3')}`,
      [owner, leaseMs, leaseMs - everyMs, healthy],
    );
    const rows = await this.dataSource.query<{ id: number }[]>(
      `select source_id as id from source_sync where lease_owner = $1`,
      [owner],
    );
    return rows.map(({ id }) => id);
  }

  /**
   * Locks the source's row when this replica still holds its lease, and the settings are those it watches by; false: what
   * it has must not be written.
   */
  async lockForWrite(manager: EntityManager, owner: string, source: WatchedSource): Promise<boolean> {
    const rows = await manager.query<object[]>(
      `select 1 from source s join source_sync y on y.source_id = s.id
       where s.id = $1 and y.lease_owner = $2 and s.settings = $3::jsonb and s.filter is not distinct from $4::jsonb
       for update of s`,
      [source.id, owner, JSON.stringify(source.settings), source.filter && JSON.stringify(source.filter)],
    );
    return rows.length > 0;
  }

  /** False when the lease was lost while the rows were written: then they must not stay. */
  async complete(
    manager: EntityManager,
    owner: string,
    sourceId: number,
    { counts, skipped }: WatchOutcome,
  ): Promise<boolean> {
    const [rows] = await manager.query<[object[], number]>(
      `update source_sync set last_success_at = now(), counts = $3, skipped = $4
       where source_id = $2 and lease_owner = $1 returning 1`,
      [owner, sourceId, JSON.stringify(counts), JSON.stringify(skipped)],
    );
    return rows.length > 0;
  }

  async tell(owner: string, sourceId: number, { status, error, attempts }: WatchState): Promise<void> {
    await this.dataSource.query(
      `update source_sync set status = $3, error = $4, attempts = $5,
         last_attempt_at = case when $5 > 0 then now() else last_attempt_at end
       where source_id = $2 and lease_owner = $1`,
      [owner, sourceId, status, error, attempts],
    );
  }

  /** Hands the lease of a source, or all leases of this replica, back. */
  async release(owner: string): Promise<void> {
    await this.dataSource.query(
      `update source_sync set lease_owner = null, lease_until = null, status = case
         when status <> 'syncing' then status when last_success_at is null then 'pending' else 'complete' end
       where lease_owner = $1`,
      [owner],
    );
  }
}
