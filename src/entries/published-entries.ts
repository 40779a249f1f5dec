import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { ClaimSetsRepository } from '../claim-sets/claim-sets.repository.js';
import type { Claims } from '../claims/claims.js';
import type { IncomingVersion } from '../documents/incoming-version.js';
import type { EntryType } from '../documents/entry-types.js';
import { bumpRevision } from '../sources/source-revision.queries.js';
import { electLatest } from './latest-version.queries.js';
import type { VersionState } from '../documents/official-meta.js';
import { versionKey } from '../documents/version-order.js';

/** An entry of the managed source. */
export interface PublishedEntry {
  readonly id: string;
  readonly sourceId: number;
  readonly claims: Claims;
}

/** A version of it, with its document as it is served. */
export interface PublishedVersion extends VersionState {
  readonly version: string;
  readonly document: string;
}

const UTC = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
const VERSION_COLUMNS = `v.version, v.document, v.status, v.status_message as "statusMessage",
  ${UTC('v.status_changed_at')} as "statusChangedAt", ${UTC('v.published_at')} as "publishedAt",
  ${UTC('v.updated_at')} as "updatedAt", v.is_latest as "isLatest"`;

/**
 * The entries of the managed source, read and written. Every method runs inside its caller's transaction; those that
 * write need the name's lock, and move the revision of the source, so that views and pages are made anew.
 */
@Injectable()
export class PublishedEntries {
  constructor(private readonly claimSets: ClaimSetsRepository) {}

  /** Makes everything that happens to one name happen one after the other. */
  async lockName(manager: EntityManager, type: EntryType, name: string): Promise<void> {
    // Each one that waits holds a connection.
    await manager.query(`set local lock_timeout = '5s'`);
    await manager.query(`select pg_advisory_xact_lock(hashtextextended($1, 0))`, [`${type}:${name}`]);
  }

  async findManagedSource(manager: EntityManager): Promise<number | undefined> {
    const [row] = await manager.query<{ id: number }[]>(
      `select id from source where kind = 'managed' for key share`,
    );
    return row?.id;
  }

  async find(manager: EntityManager, type: EntryType, name: string): Promise<PublishedEntry | undefined> {
    const [row] = await manager.query<PublishedEntry[]>(
      `select e.id, e.source_id as "sourceId", c.claims from source s
       join entry e on e.source_id = s.id and e.type = $1 and e.name = $2
       join claim_set c on c.id = e.claim_set_id where s.kind = 'managed'`,
      [type, name],
    );
    return row;
  }

  /** One version of an entry, or all of them, newest first. */
  async versions(manager: EntityManager, entryId: string, version?: string): Promise<PublishedVersion[]> {
    return manager.query<PublishedVersion[]>(
      `select ${VERSION_COLUMNS} from entry_version v
       where v.entry_id = $1 and ($2::text is null or v.version = $2) order by v.version_key desc`,
      [entryId, version ?? null],
    );
  }

  /** Adds a version, and the entry with its claims when it is the first one. */
  async add(
    manager: EntityManager,
    sourceId: number,
    entry: PublishedEntry | undefined,
    claims: Claims,
    version: IncomingVersion,
  ): Promise<string> {
    const entryId = entry?.id ?? (await this.addEntry(manager, sourceId, claims, version));
    // The clock and not the transaction's time: who waited for the lock longer did not publish earlier.
    const [clock] = await manager.query<{ now: Date }[]>(
      `select date_trunc('milliseconds', clock_timestamp()) as now`,
    );
    if (!clock) throw new Error('The database told no time');
    await manager.query(
      `insert into entry_version (entry_id, version, version_key, document, digest, status, status_changed_at,
         published_at, updated_at, search) values ($1, $2, $3, $4, $5, $6, $7, $7, $7, $8)`,
      [
        entryId,
        version.version,
        versionKey(version.version, clock.now),
        version.text,
        version.digest,
        version.status,
        clock.now,
        version.searchText,
      ],
    );
    await electLatest(manager, [entryId]);
    await bumpRevision(manager, sourceId);
    return entryId;
  }

  /** Removes a version; the entry goes with its last one. */
  async remove(manager: EntityManager, entry: PublishedEntry, version: string): Promise<void> {
    await manager.query(`delete from entry_version where entry_id = $1 and version = $2`, [
      entry.id,
      version,
    ]);
    await manager.query(
      `delete from entry e where e.id = $1 and not exists (select 1 from entry_version v where v.entry_id = e.id)`,
      [entry.id],
    );
    await electLatest(manager, [entry.id]);
    await bumpRevision(manager, entry.sourceId);
  }

  /** Gives the entry, and so every version of it, these claims. */
  async setClaims(manager: EntityManager, entry: PublishedEntry, claims: Claims): Promise<void> {
    const { id: claimSetId } = await this.claimSets.findOrCreate(manager, claims);
    await manager.query(`update entry set claim_set_id = $2 where id = $1`, [entry.id, claimSetId]);
    await bumpRevision(manager, entry.sourceId);
  }

  /**
   * Gives versions a status. One that has it already, message included, is left as it is.
   *
   * @param document the text of the document with the new status in it, for types that carry it there.
   */
  async setStatus(
    manager: EntityManager,
    entry: PublishedEntry,
    versions: readonly { readonly version: string; readonly document: string; readonly digest: Buffer }[],
    status: string,
    message: string | null,
  ): Promise<void> {
    await manager.query(
      `update entry_version v set status = $5, status_message = $6, document = n.document, digest = n.digest,
         updated_at = date_trunc('milliseconds', clock_timestamp()),
         status_changed_at = case when v.status = $5 then v.status_changed_at
           else date_trunc('milliseconds', clock_timestamp()) end
       from unnest($2::text[], $3::text[], $4::bytea[]) as n(version, document, digest)
       where v.entry_id = $1 and v.version = n.version
         and (v.status <> $5 or v.status_message is distinct from $6)`,
      [
        entry.id,
        versions.map(({ version }) => version),
        versions.map(({ document }) => document),
        versions.map(({ digest }) => digest),
        status,
        message,
      ],
    );
    await electLatest(manager, [entry.id]);
    await bumpRevision(manager, entry.sourceId);
  }

  private async addEntry(
    manager: EntityManager,
    sourceId: number,
    claims: Claims,
    { type, name }: IncomingVersion,
  ): Promise<string> {
    const { id: claimSetId } = await this.claimSets.findOrCreate(manager, claims);
    const [row] = await manager.query<{ id: string }[]>(
      `insert into entry (source_id, type, name, claim_set_id) values ($1, $2, $3, $4) returning id`,
      [sourceId, type, name, claimSetId],
    );
    if (!row) throw new Error('An entry was not added');
    return row.id;
  }
}
