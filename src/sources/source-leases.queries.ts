import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Any, DataSource, type EntityManager, Repository } from 'typeorm';
import type { Claims } from '../claims/claims.js';
import type { AdmissionConfig, Origin } from '../config/config.js';
import { BULK_WRITERS, lockBulkWrite, waitForLocks } from '../database/locks.js';
import { timeIn } from '../database/sql-expressions.js';
import { type SettingsOf, type SyncedKind, WATCHED_KINDS, type WatchedKind } from '../source-kinds/kinds.js';
import { Source, SourceState } from './source.entity.js';
import type { StoredFilter } from './entry-filter.js';

/** A synced source leased by a run of this replica. */
export type LeasedSource<K extends SyncedKind = SyncedKind> = {
  [P in K]: {
    readonly id: number;
    readonly name: string;
    readonly kind: P;
    readonly origin: Origin;
    readonly settings: SettingsOf<P>;
    readonly filter: StoredFilter | null;
    readonly admission: AdmissionConfig | null;
    readonly claims: Claims;
    readonly claimSetId: number;
    /** See `ownerOf`. */
    readonly owner: string;
    /** Whether the shrink guard is disabled in the settings or for this run. */
    readonly mayShrink: boolean;
    readonly intervalMs: number;
    /** State from the last successful run; null if there is none or the settings have changed. */
    readonly fetchState: unknown;
    /** Number of runs since the last success, including this one. */
    readonly attempts: number;
    /** Whether a sync has been requested since the last success. */
    readonly isRequested: boolean;
  };
}[K];

/** Sources created through the API that must wait although they are due. */
export interface WaitingSources {
  readonly all: boolean;
  /** Sources of these owners. */
  readonly owners: readonly string[];
  /** Sources with one of these claim sets. */
  readonly claimSetIds: readonly number[];
}

/** Maximum number of due sources that one query reads. */
const SOURCES_PER_READ = 100;

/** A watched source leased by this replica. */
export interface WatchedSource {
  readonly id: number;
  readonly name: string;
  readonly kind: WatchedKind;
  readonly origin: Origin;
  readonly settings: SettingsOf<WatchedKind>;
  readonly filter: StoredFilter | null;
}

/**
 * Manages leases on sources: only one owner at a time may sync or watch a source. A lease expires unless it is renewed,
 * and changing the source's settings releases it immediately (`SourceStates.forget`). Owners must write through
 * `writeWhileHeld`.
 */
@Injectable()
export class SourceLeases {
  constructor(
    private readonly dataSource: DataSource,
    @InjectRepository(SourceState) private readonly states: Repository<SourceState>,
  ) {}

  /**
   * Returns due sources in the order of their turns: the owner who has waited longest for a turn comes first, with the
   * source that has been due longest. An owner with many sources therefore does not delay the others.
   */
  async due(waiting: WaitingSources): Promise<number[]> {
    const rows = await this.dataSource.query<{ id: number }[]>(
      `with due as materialized (
         select d.source_id, d.next_run_at, ${ownerOf('k')} as owner from source_sync d join source k on k.id = d.source_id
         where d.next_run_at <= now() and ${IS_FREE}
       ), turns as (
         select ${ownerOf('k')} as owner, max(d.last_attempt_at) as last
         from source k join source_sync d on d.source_id = k.id
         where exists (select from due) and ${ownerOf('k')} in (select owner from due) group by 1
       )
       select due.source_id as id from due join turns using (owner)
       order by row_number() over (partition by owner order by due.next_run_at), turns.last nulls first, due.next_run_at
       limit ${SOURCES_PER_READ}`,
      [waiting.all, waiting.claimSetIds, waiting.owners],
    );
    return rows.map(({ id }) => id);
  }

  /** Acquires the lease on the first of these sources that is still due, if any. */
  async takeFirst(
    owner: string,
    leaseMs: number,
    ids: readonly number[],
    waiting: WaitingSources,
  ): Promise<LeasedSource | null> {
    const [[source]] = await this.dataSource.query<[LeasedSource[], number]>(
      `update source_sync y set lease_owner = $4, lease_until = now() + $5 * interval '1 millisecond',
         status = 'syncing', attempts = y.attempts + 1, last_attempt_at = clock_timestamp()
       from source s join claim_set c on c.id = s.claim_set_id
       where s.id = y.source_id and y.source_id = (
         select d.source_id from unnest($6::int[]) with ordinality asked(id, place)
           join source_sync d on d.source_id = asked.id join source k on k.id = d.source_id
         -- Compares a difference, because no index has it: otherwise PostgreSQL would read all due sources to find these.
         where d.next_run_at - now() <= interval '0' and ${IS_FREE}
         order by asked.place limit 1 for update of d skip locked
       )
       returning s.id, s.name, s.kind, s.origin, s.settings, s.filter, s.admission, c.claims, s.claim_set_id as "claimSetId", ${ownerOf('s')} as owner, s.interval_ms::float8 as "intervalMs",
         y.fetch_state as "fetchState", y.attempts,
         y.requested_at is not null as "isRequested",
         s.allow_shrink or y.shrink_allowed_at is not null as "mayShrink"`,
      [waiting.all, waiting.claimSetIds, waiting.owners, owner, leaseMs, ids],
    );
    return source ?? null;
  }

  /**
   * Acquires all free leases on watched sources. Watched sources are never due (`next_run_at` is null); their owner
   * watches them while it holds the lease. An owner's expired leases are restored by `renew` instead.
   */
  async takeUnwatched(owner: string, leaseMs: number): Promise<WatchedSource[]> {
    const [sources] = await this.dataSource.query<[WatchedSource[], number]>(
      `update source_sync y set lease_owner = $1, lease_until = now() + $2 * interval '1 millisecond',
         status = 'syncing', attempts = 0, last_attempt_at = clock_timestamp()
       from source s
       where s.id = y.source_id and y.source_id in (
         select d.source_id from source_sync d join source k on k.id = d.source_id
         where k.kind = any($3) and d.lease_owner is distinct from $1::uuid
           and (d.lease_until is null or d.lease_until < now())
         for update of d skip locked
       )
       returning s.id, s.name, s.kind, s.origin, s.settings, s.filter`,
      [owner, leaseMs, WATCHED_KINDS],
    );
    return sources;
  }

  /**
   * Renews all leases of an owner.
   *
   * @param currentIds ids of the watched sources whose entries match their cluster; recorded as successes.
   * @returns the ids of the sources whose leases the owner still holds; changing, removing or re-leasing a source ends
   * its lease.
   */
  async renew(owner: string, leaseMs: number, currentIds: readonly number[] = []): Promise<number[]> {
    const { raw } = await this.states
      .createQueryBuilder()
      .update()
      .set({
        leaseUntil: timeIn(leaseMs),
        lastSuccessAt: () => 'case when source_id = any(:currentIds) then now() else last_success_at end',
      })
      .where('lease_owner = :owner', { owner, currentIds })
      .returning(['sourceId'])
      .execute();
    return (raw as { source_id: number }[]).map((row) => row.source_id);
  }

  /**
   * Releases the leases of these owners immediately. An unfinished run does not count as an attempt, and its source
   * returns to its previous state.
   */
  async release(owners: readonly string[]): Promise<void> {
    await this.states.update(
      { leaseOwner: Any(owners) },
      {
        leaseOwner: null,
        leaseUntil: null,
        attempts: () => ATTEMPTS_BEFORE_RUN,
        status: () => STATUS_BEFORE_RUN,
      },
    );
  }

  /**
   * Makes any transaction that is writing the source roll back, unless it is about to commit. A sync then starts again
   * immediately, and does not count as failed. Ends the connection, because only a running statement can be canceled:
   * between statements a replica may be busy or stopped.
   */
  async interrupt(sourceId: number): Promise<void> {
    await this.dataSource.query(
      `with state as materialized (
         select y.source_id from source_sync y where y.source_id = $1 for update skip locked
       ), writers as materialized (
         ${BULK_WRITERS} and exists (select from state)
       ), released as (
         update source_sync y set lease_owner = null, lease_until = null, attempts = ${ATTEMPTS_BEFORE_RUN},
           status = ${STATUS_BEFORE_RUN}, next_run_at = now()
         from source s
         where exists (select from writers) and y.source_id = $1 and s.id = y.source_id
           and y.lease_owner is not null and s.interval_ms is not null
       )
       select pg_terminate_backend(pid) from writers`,
      [sourceId],
    );
  }

  /**
   * Writes the result of a read in one transaction that locks the source's row.
   *
   * @param source the source as it was when its lease was acquired.
   * @param write receives the id of the source's claim set; returns null to roll back if the lease was lost.
   * @returns null if nothing was written: the lease was lost or the settings have changed.
   */
  async writeWhileHeld<T extends object>(
    owner: string,
    source: {
      readonly id: number;
      readonly settings: object;
      readonly filter: object | null;
      readonly admission?: object | null;
    },
    write: (manager: EntityManager, claimSetId: number) => Promise<T | null>,
  ): Promise<T | null> {
    const writing = this.dataSource.transaction(async (manager) => {
      await waitForLocks(manager);
      await lockBulkWrite(manager, source.id);
      const json = (value: object | null | undefined) => (value ? JSON.stringify(value) : null);
      const { id, settings, filter, admission } = source;
      const held = await manager
        .createQueryBuilder(Source, 'source')
        .select(['source.id', 'source.claimSetId'])
        .innerJoin('source.state', 'state', 'state.leaseOwner = :owner', { owner })
        .where({ id })
        .andWhere('source.settings = :settings::jsonb', { settings: json(settings) })
        .andWhere('source.filter is not distinct from :filter::jsonb', { filter: json(filter) })
        .andWhere('source.admission is not distinct from :admission::jsonb', { admission: json(admission) })
        .setLock('pessimistic_write', undefined, ['source'])
        .getOne();
      const written = held ? await write(manager, held.claimSetId) : null;
      if (written === null) throw new LeaseLost();
      return written;
    });
    return writing.catch((error: unknown) => {
      if (error instanceof LeaseLost) return null;
      throw error;
    });
  }
}

/** SQL: the attempts and the status of a source, as if its unfinished run had not begun. */
const ATTEMPTS_BEFORE_RUN = `case when status = 'syncing' then greatest(attempts - 1, 0) else attempts end`;
const STATUS_BEFORE_RUN = `case
    when status <> 'syncing' then status
    when error is not null then 'failed'
    when last_success_at is null then 'pending'
    else 'complete'
  end`;

/**
 * SQL: the owner whose turn the sync of a source takes: the person who last changed the source, or the configuration.
 * Unknown persons (as in anonymous mode) count as one.
 */
function ownerOf(source: string): string {
  return `case when ${source}.origin = 'config' then 'config' else coalesce(encode(${source}.changed_by, 'hex'), '') end`;
}

/**
 * SQL: whether the lease `d` of source `k` is free and the source need not wait. Takes three parameters, see
 * WaitingSources.
 */
const IS_FREE = `(d.lease_until is null or d.lease_until < now())
           and not (k.origin = 'api' and ($1 or k.claim_set_id = any($2::int[]) or ${ownerOf('k')} = any($3::text[])))`;

/** Thrown to roll back the transaction. */
class LeaseLost extends Error {}

/** Lease duration and renewal interval of syncs. */
export const SYNC_LEASE = { ms: 15_000, renewMs: 5_000 } as const;
/** Lease duration and renewal interval of watches. */
export const WATCH_LEASE = { ms: 10_000, renewMs: 3_000 } as const;
