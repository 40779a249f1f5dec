import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { Claims } from '../claims/claims.js';
import { type SettingsOf, type SyncedKind, WATCHED_KINDS, type WatchedKind } from '../source-kinds/kinds.js';
import type { EntryFilter } from './entry-filter.js';
import type { Origin } from './source.entity.js';

/** A source that is synced, and whose lease a run of this replica holds; its kind gives the type of its settings. */
export type LeasedSource<K extends SyncedKind = SyncedKind> = {
  [P in K]: {
    readonly id: number;
    readonly name: string;
    readonly kind: P;
    readonly origin: Origin;
    readonly settings: SettingsOf<P>;
    readonly filter: EntryFilter | null;
    readonly claims: Claims;
    /** May this run lose most of the entries, by the settings or as it was asked for? */
    readonly mayShrink: boolean;
    readonly intervalMs: number;
    readonly contentDigest: Buffer | null;
    /** What the last run that succeeded left for the next one; null when there is none, or the settings have changed since. */
    readonly fetchState: unknown;
    /** Runs since the last one that succeeded, this one included. */
    readonly attempts: number;
    /** Whether a sync has been requested since the last one that succeeded. */
    readonly isRequested: boolean;
  };
}[K];

/** A watched source whose lease this replica holds. */
export interface WatchedSource {
  readonly id: number;
  readonly name: string;
  readonly kind: WatchedKind;
  readonly origin: Origin;
  readonly settings: SettingsOf<WatchedKind>;
  readonly filter: EntryFilter | null;
}

/**
 * Who may sync or watch a source: one owner at a time. A lease runs out when it is not renewed, and is free then; a change
 * of the source's settings frees it at once (`SourceStates.forget`). What an owner writes, it writes by `writeWhileHeld`.
 */
@Injectable()
export class SourceLeases {
  constructor(private readonly dataSource: DataSource) {}

  /** Takes the lease of the source that has been due longest, if any. */
  async takeDue(owner: string, leaseMs: number): Promise<LeasedSource | null> {
    const [[source]] = await this.dataSource.query<[LeasedSource[], number]>(
      `update source_sync y set lease_owner = $1, lease_until = now() + $2 * interval '1 millisecond',
         status = 'syncing', attempts = y.attempts + 1, last_attempt_at = now()
       from source s join claim_set c on c.id = s.claim_set_id
       where s.id = y.source_id and y.source_id = (
         select d.source_id from source_sync d
         where d.next_run_at <= now() and (d.lease_until is null or d.lease_until < now())
         order by d.next_run_at limit 1 for update skip locked
       )
       returning s.id, s.name, s.kind, s.origin, s.settings, s.filter, c.claims, s.interval_ms::float8 as "intervalMs",
         y.content_digest as "contentDigest", y.fetch_state as "fetchState", y.attempts,
         y.requested_at is not null as "isRequested",
         s.allow_shrink or y.shrink_allowed_at is not null as "mayShrink"`,
      [owner, leaseMs],
    );
    return source ?? null;
  }

  /**
   * Takes the leases of all sources of kind kubernetes that nobody holds. They are never due (`next_run_at` is null): they
   * are watched for as long as the lease is held. One of the owner's own that has run out comes back by `renew`.
   */
  async takeUnwatched(owner: string, leaseMs: number): Promise<WatchedSource[]> {
    const [sources] = await this.dataSource.query<[WatchedSource[], number]>(
      `update source_sync y set lease_owner = $1, lease_until = now() + $2 * interval '1 millisecond',
         status = 'syncing', attempts = 0, last_attempt_at = now()
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
   * @param currentIds watched sources whose entries are known to equal their cluster now: a success at this moment.
   * @returns the ids of the sources whose lease the owner still holds. Not among them: sources that were changed, removed
   *   or taken over.
   */
  async renew(owner: string, leaseMs: number, currentIds: readonly number[] = []): Promise<number[]> {
    const [rows] = await this.dataSource.query<[{ id: number }[], number]>(
      `update source_sync set lease_until = now() + $2 * interval '1 millisecond',
         last_success_at = case when source_id = any($3::int[]) then now() else last_success_at end
       where lease_owner = $1 returning source_id as id`,
      [owner, leaseMs, currentIds],
    );
    return rows.map(({ id }) => id);
  }

  /**
   * Hands the leases of these owners back: others, or this replica's successor, may take them at once. A run that has not
   * ended is not counted as an attempt, and its source is again in the state its last run left it in.
   */
  async release(owners: readonly string[]): Promise<void> {
    await this.dataSource.query(
      `update source_sync set lease_owner = null, lease_until = null,
         attempts = case when status = 'syncing' then greatest(attempts - 1, 0) else attempts end,
         status = case
           when status <> 'syncing' then status
           when error is not null then 'failed'
           when last_success_at is null then 'pending'
           else 'complete'
         end
       where lease_owner = any($1::uuid[])`,
      [owners],
    );
  }

  /**
   * Writes what was read from a source, in one transaction that locks the source's row.
   *
   * @param source as it was when its lease was taken.
   * @param write receives the claim set of the source; null takes back what it has written, because the lease was lost meanwhile.
   * @returns null when nothing was written: the owner no longer holds the lease, or the settings are others by now.
   */
  async writeWhileHeld<T extends object>(
    owner: string,
    source: { readonly id: number; readonly settings: object; readonly filter: object | null },
    write: (manager: EntityManager, claimSetId: number) => Promise<T | null>,
  ): Promise<T | null> {
    const writing = this.dataSource.transaction(async (manager) => {
      const [held] = await manager.query<{ claimSetId: number }[]>(
        `select s.claim_set_id as "claimSetId" from source s join source_sync y on y.source_id = s.id
         where s.id = $1 and y.lease_owner = $2 and s.settings = $3::jsonb and s.filter is not distinct from $4::jsonb
         for update of s`,
        [source.id, owner, JSON.stringify(source.settings), source.filter && JSON.stringify(source.filter)],
      );
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

/** Rolls the transaction back. */
class LeaseLost extends Error {}

// How long a lease is held without being renewed, after which another replica may take it, and how often it is renewed.

/** For a sync. */
export const SYNC_LEASE = { ms: 15_000, renewMs: 5_000 } as const;
/** For watching a cluster. */
export const WATCH_LEASE = { ms: 10_000, renewMs: 3_000 } as const;

/**
 * SQL: a sync that was requested while this run went on comes right after it. Otherwise the next one comes after `$3`
 * milliseconds or up to a tenth later, so that sources that began together do not stay together.
 */
export const NEXT_RUN_AT = `case when requested_at >= last_attempt_at then now()
  else now() + $3 * (1 + random() * 0.1) * interval '1 millisecond' end`;
