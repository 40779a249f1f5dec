import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { isLockConflict } from '../database/database-errors.js';
import { Polling } from '../database/polling.js';
import { TimeSlice } from '../json/time-slice.js';
import { type LatestVersion, summaryOf, type WrittenSummary } from './entry-summary.js';
import { addSearchKeys } from './search-texts.queries.js';

const EVERY_MS = 2_000;
/** Maximum number of entries, and of bytes of documents, per transaction. */
const ENTRIES_PER_BATCH = 250;
const BYTES_PER_BATCH = 2 * 1_024 * 1_024;

// Writers lock a row before they commit a change of its entry, so a locked row's entry does not change.
const LOCK = `
select entry_id as "entryId" from entry_summary
where is_outdated and ($1::int[] is null or partition_id = any($1))
order by entry_id limit ${ENTRIES_PER_BATCH} for update skip locked`;

const LATEST = `
select "entryId", type, name, version, status, document, "changedAt" from (
  select s.entry_id as "entryId", s.type, s.name, v.version, v.status, v.document,
    coalesce(v.document_changed_at, v.updated_at) as "changedAt",
    coalesce(sum(octet_length(v.document)) over batch, 0) as bytes, row_number() over batch as place
  from unnest($1::bigint[]) as asked(id)
  join entry_summary s on s.entry_id = asked.id
  left join entry_version v on v.entry_id = s.entry_id and v.is_latest
  window batch as (order by s.entry_id rows unbounded preceding)
) sized where bytes <= ${BYTES_PER_BATCH} or place = 1`;

const WRITE = `
update entry_summary s
set is_outdated = false, version = n.version, status = n.status, title = n.title, description = n.description,
  tags = n.tags, transports = n.transports, is_installable = n."isInstallable", updated_at = n."updatedAt",
  bytes = n.bytes
from json_to_recordset($1::json) as n("entryId" bigint, version text, status text, title text, description text,
  tags text[], transports text[], "isInstallable" boolean, "updatedAt" timestamptz, bytes integer)
where s.entry_id = n."entryId"`;

/** Entries whose summaries one transaction adds after an upgrade. */
const ENTRIES_PER_FILL = 2_000;
/** Below `deadlock_timeout`: a writer that holds an entry of the batch may wait for another one of it. */
const FILL_LOCK_TIMEOUT = '200ms';

const LOCK_FILL = `select next_entry_id as next from entry_summary_fill for update skip locked`;

const FILL = `
with batch as materialized (
  select id, source_id, type, name, claim_set_id from entry where id >= $1 order by id limit ${ENTRIES_PER_FILL}
), added as (
  insert into entry_summary (entry_id, partition_id, type, name)
  select e.id, p.id, e.type, e.name
  from batch e
  join search_partition p on p.source_id = e.source_id and p.type = e.type and p.claim_set_id = e.claim_set_id
  where exists (select 1 from entry_version v where v.entry_id = e.id and v.is_latest)
  on conflict do nothing
), continued as (
  update entry_summary_fill set next_entry_id = batch.next
  from (select max(id) + 1 as next from batch) batch where batch.next is not null
  returning 1
)
select exists (select 1 from continued) as "isLeft"`;

/** Null if the entry has no latest version. */
type MaybeLatest = LatestVersion | (Pick<LatestVersion, 'entryId'> & { readonly version: null });

interface Batch {
  readonly written: number;
  /** Whether it reached a limit, so that there may be more. */
  readonly isFull: boolean;
}

const DROP = `delete from entry_summary where entry_id = any($1::bigint[])`;

/**
 * Writes the summaries and search keys of changed entries after the change is committed: continuously, and summaries at once
 * for a search that needs them. Replicas share the work.
 */
@Injectable()
export class EntrySummaries implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('search');
  private readonly polling = new Polling(() => this.writeAll(), EVERY_MS, this.logger, {
    failed: 'Preparing changed entries for the ranked search failed; it will be retried',
  });

  constructor(private readonly dataSource: DataSource) {}

  onApplicationBootstrap(): void {
    this.polling.beginLater();
  }

  onApplicationShutdown(): Promise<void> {
    return this.polling.end();
  }

  private async writeAll(): Promise<void> {
    while (!this.polling.hasEnded && (await this.fill()));
    // What is published meanwhile waits for the next poll, so that many publications share a batch.
    while (!this.polling.hasEnded && (await this.writeBatch(null)).isFull);
    while (!this.polling.hasEnded && (await addSearchKeys(this.dataSource)));
  }

  /**
   * Writes a batch of outdated summaries.
   *
   * @param partitions only in these partitions; null for all.
   * @returns how many were written; 0 also if all others are being written or changed elsewhere.
   */
  async write(partitions: readonly number[] | null): Promise<number> {
    return (await this.writeBatch(partitions)).written;
  }

  private async writeBatch(partitions: readonly number[] | null): Promise<Batch> {
    const batch = await this.dataSource.transaction(async (manager): Promise<Batch> => {
      const locked = await manager.query<{ entryId: string }[]>(LOCK, [partitions]);
      if (locked.length === 0) return { written: 0, isFull: false };
      const ids = locked.map(({ entryId }) => entryId);
      const written = await this.writeLocked(manager, ids);
      return { written, isFull: locked.length === ENTRIES_PER_BATCH || written < locked.length };
    });
    if (batch.written === 0) await this.fill();
    return batch;
  }

  /**
   * Adds the summaries of a batch of entries that existed before the upgrade.
   *
   * @returns whether more may lack them; false also while another replica adds some, or a writer holds some entries.
   */
  private async fill(): Promise<boolean> {
    try {
      return await this.dataSource.transaction(async (manager) => {
        const [fill] = await manager.query<{ next: string }[]>(LOCK_FILL);
        if (!fill) return false;
        await manager.query(`set local lock_timeout = '${FILL_LOCK_TIMEOUT}'`);
        const [added] = await manager.query<{ isLeft: boolean }[]>(FILL, [fill.next]);
        if (!added?.isLeft) await manager.query(`delete from entry_summary_fill`);
        return added?.isLeft === true;
      });
    } catch (error) {
      if (isLockConflict(error)) return false;
      throw error;
    }
  }

  private async writeLocked(manager: EntityManager, entryIds: readonly string[]): Promise<number> {
    const found = await manager.query<MaybeLatest[]>(LATEST, [entryIds]);
    const slice = new TimeSlice();
    const summaries: WrittenSummary[] = [];
    const without: string[] = [];
    for (const latest of found) {
      await slice.pause();
      const summary = latest.version === null ? undefined : this.summarize(latest);
      if (summary) summaries.push(summary);
      else without.push(latest.entryId);
    }
    await manager.query(WRITE, [JSON.stringify(summaries)]);
    if (without.length > 0) await manager.query(DROP, [without]);
    return found.length;
  }

  // One document must not keep all others out of the search.
  private summarize(latest: LatestVersion): WrittenSummary | undefined {
    try {
      return summaryOf(latest);
    } catch (error) {
      this.logger.error({ err: error, name: latest.name }, 'The ranked search omits an entry');
      return undefined;
    }
  }
}
