import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { IncomingVersion } from '../../documents/incoming-version.js';
import { batches, weighedBatches } from './batches.js';
import { type CatalogDiff, diffCatalog, type StoredVersion } from './catalog-diff.js';
import { ClaimSetsRepository } from '../../claim-sets/claim-sets.repository.js';
import type { Claims } from '../../claims/claims.js';
import { electLatest, precedes } from '../latest-version.queries.js';
import type { EntryType } from '../../documents/entry-types.js';
import { storedAmong, storedVersions } from './stored-versions.queries.js';
import { versionKey } from '../../documents/version-order.js';

/** Rows a statement carries. */
const BATCH = 1_000;
/** Characters of documents that a statement carries: encoding more of them would hold the event loop up. */
const BATCH_TEXT = 512 * 1024;

export interface WriteCounts {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  readonly unchanged: number;
}

/** A version whose entry has claims of its own. There is one version of each such entry. */
export interface LabeledVersion {
  readonly version: IncomingVersion;
  readonly claims: Claims;
}

/** Writes what sources bring; what is published is written by PublishedEntries. Runs inside its caller's transaction. */
@Injectable()
export class EntryWriter {
  constructor(private readonly claimSets: ClaimSetsRepository) {}

  /**
   * Makes the entries of a source equal `incoming`. Versions whose digest is unchanged are not touched; what left the
   * source is deleted; each entry's latest version is found anew where something changed.
   *
   * The caller holds the row lock of the source, so that two runs can't interleave.
   */
  async replaceAll(
    manager: EntityManager,
    sourceId: number,
    claimSetId: number,
    incoming: readonly IncomingVersion[],
  ): Promise<WriteCounts> {
    const diff = await diffCatalog(await storedVersions(manager, sourceId, null), incoming);
    const now = await transactionTime(manager);
    const touched = new Set<string>();
    await this.remove(manager, diff.gone, touched);
    await this.change(manager, diff.changed, now, touched);
    await this.add(manager, sourceId, () => claimSetId, diff.added, now, touched);
    for await (const batch of batches([...touched], 2_000)) await electLatest(manager, batch);
    return countsOf(diff);
  }

  /**
   * Makes the source's versions that are named in `changed` and `gone` what is said there, and lets all others alone. What
   * is gone already is no error. Otherwise as `replaceAll`.
   */
  async applyChanges(
    manager: EntityManager,
    sourceId: number,
    claimSetId: number,
    changed: readonly IncomingVersion[],
    gone: readonly Pick<IncomingVersion, 'type' | 'name' | 'version'>[],
  ): Promise<WriteCounts> {
    const stored = await storedAmong(manager, sourceId, [...changed, ...gone]);
    const leaving = new Set(gone.map(nameOf));
    const diff = await diffCatalog(
      stored.filter((version) => !leaving.has(nameOf(version))),
      changed,
    );
    const now = await transactionTime(manager);
    const touched = new Set<string>();
    const removed = stored.filter((version) => leaving.has(nameOf(version)));
    await this.remove(manager, removed, touched);
    await this.change(manager, diff.changed, now, touched);
    await this.add(manager, sourceId, () => claimSetId, diff.added, now, touched);
    for await (const batch of batches([...touched], 2_000)) await electLatest(manager, batch);
    return { ...countsOf(diff), removed: removed.length };
  }

  /**
   * As `replaceAll`, for entries that each have claims of their own, which follow also where nothing else changed.
   *
   * @param among the entries that are made equal to `incoming`; all others are let alone. Null: all there are.
   */
  async replaceLabeled(
    manager: EntityManager,
    sourceId: number,
    incoming: readonly LabeledVersion[],
    among: readonly Pick<IncomingVersion, 'type' | 'name'>[] | null,
  ): Promise<WriteCounts> {
    const versions = incoming.map(({ version }) => version);
    const stored = await storedVersions(manager, sourceId, among);
    const diff = await diffCatalog(stored, versions);
    const claimSets = await this.claimSets.findOrCreateAll(
      manager,
      incoming.map(({ claims }) => claims),
    );
    const now = await transactionTime(manager);
    const touched = new Set<string>();
    await this.remove(manager, diff.gone, touched);
    const relabeled = await this.relabelEach(manager, sourceId, versions, claimSets);
    await this.change(manager, diff.changed, now, touched);
    const ofEntry = new Map(versions.map((version, index) => [version, claimSets[index] ?? 0]));
    await this.add(manager, sourceId, (version) => ofEntry.get(version) ?? 0, diff.added, now, touched);
    for await (const batch of batches([...touched], 2_000)) await electLatest(manager, batch);
    for (const { stored: version } of diff.changed) relabeled.delete(version.entryId);
    const counts = countsOf(diff);
    return {
      ...counts,
      changed: counts.changed + relabeled.size,
      unchanged: counts.unchanged - relabeled.size,
    };
  }

  /** The ids of the entries that had other claims. */
  private async relabelEach(
    manager: EntityManager,
    sourceId: number,
    versions: readonly IncomingVersion[],
    claimSets: readonly number[],
  ): Promise<Set<string>> {
    const relabeled = new Set<string>();
    const labels = versions.map(({ type, name }, index) => ({ type, name, claimSet: claimSets[index] }));
    for await (const batch of batches(labels, 2_000)) {
      const [rows] = await manager.query<[{ id: string }[], number]>(
        `update entry e set claim_set_id = n.claim_set_id
         from unnest($2::text[], $3::text[], $4::int[]) as n(type, name, claim_set_id)
         where e.source_id = $1 and e.type = n.type and e.name = n.name and e.claim_set_id <> n.claim_set_id
         returning e.id`,
        [
          sourceId,
          batch.map(({ type }) => type),
          batch.map(({ name }) => name),
          batch.map((l) => l.claimSet),
        ],
      );
      for (const { id } of rows) relabeled.add(id);
    }
    return relabeled;
  }

  private async remove(
    manager: EntityManager,
    gone: readonly StoredVersion[],
    touched: Set<string>,
  ): Promise<void> {
    for await (const batch of batches(gone, BATCH)) {
      await manager.query(`delete from entry_version where id = any($1::bigint[])`, [
        batch.map((v) => v.versionId),
      ]);
      const entryIds = [...new Set(batch.map((version) => version.entryId))];
      const emptied = await manager.query<[{ id: string }[], number]>(
        `delete from entry e where e.id = any($1::bigint[])
         and not exists (select 1 from entry_version v where v.entry_id = e.id) returning e.id`,
        [entryIds],
      );
      for (const id of entryIds) touched.add(id);
      for (const { id } of emptied[0]) touched.delete(id);
    }
  }

  private async change(
    manager: EntityManager,
    changed: CatalogDiff['changed'],
    now: Date,
    touched: Set<string>,
  ): Promise<void> {
    for await (const batch of weighedBatches(changed, BATCH, BATCH_TEXT, (c) => c.incoming.text.length)) {
      await manager.query(
        `update entry_version v set document = c.document, digest = c.digest, search = c.search, updated_at = $6,
           status_changed_at = coalesce(c.status_changed_at,
             case when v.status = c.status then v.status_changed_at else $6 end),
           status = c.status, status_message = c.status_message,
           published_at = coalesce(c.published_at, v.published_at), version_key = coalesce(c.version_key, v.version_key)
         from unnest($1::bigint[], $2::text[], $3::bytea[], $4::text[], $5::text[], $7::text[], $8::timestamptz[],
             $9::timestamptz[], $10::text[])
           as c(id, document, digest, search, status, status_message, status_changed_at, published_at, version_key)
         where v.id = c.id`,
        [
          batch.map(({ stored }) => stored.versionId),
          batch.map(({ incoming }) => incoming.text),
          batch.map(({ incoming }) => incoming.digest),
          batch.map(({ incoming }) => incoming.searchText),
          batch.map(({ incoming }) => incoming.status),
          now,
          batch.map(({ incoming }) => incoming.statusMessage ?? null),
          batch.map(({ incoming }) => incoming.statusChangedAt ?? null),
          batch.map(({ incoming }) => incoming.publishedAt ?? null),
          // The place among versions that are not semver is that of their publication.
          batch.map(({ incoming: { version, publishedAt } }) =>
            publishedAt ? versionKey(version, publishedAt) : null,
          ),
        ],
      );
      for (const { stored } of batch) touched.add(stored.entryId);
    }
  }

  private async add(
    manager: EntityManager,
    sourceId: number,
    claimSetOf: (version: IncomingVersion) => number,
    added: readonly IncomingVersion[],
    now: Date,
    touched: Set<string>,
  ): Promise<void> {
    const latest = await this.addEntries(manager, sourceId, claimSetOf, added, now);
    for await (const batch of weighedBatches(added, BATCH, BATCH_TEXT, ({ text }) => text.length)) {
      const rows = await manager.query<{ entry_id: string }[]>(
        `insert into entry_version (entry_id, version, version_key, document, digest, status, status_message,
           status_changed_at, published_at, updated_at, search, is_latest)
         select e.id, n.version, n.version_key, n.document, n.digest, n.status, n.status_message,
           coalesce(n.status_changed_at, $10), coalesce(n.published_at, $10), $10, n.search, n.is_latest
         from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bytea[], $8::text[], $9::text[],
             $11::text[], $12::timestamptz[], $13::timestamptz[], $14::boolean[])
           as n(type, name, version, version_key, document, digest, status, search, status_message, status_changed_at,
             published_at, is_latest)
         join entry e on e.source_id = $1 and e.type = n.type and e.name = n.name
         returning entry_id`,
        [
          sourceId,
          batch.map((version) => version.type),
          batch.map((version) => version.name),
          batch.map((version) => version.version),
          batch.map((version) => keyOf(version, now)),
          batch.map((version) => version.text),
          batch.map((version) => version.digest),
          batch.map((version) => version.status),
          batch.map((version) => version.searchText),
          now,
          batch.map(({ statusMessage = null }) => statusMessage),
          batch.map(({ statusChangedAt = null }) => statusChangedAt),
          batch.map(({ publishedAt = null }) => publishedAt),
          batch.map((version) => latest.versions.has(version)),
        ],
      );
      for (const row of rows) if (!latest.entryIds.has(row.entry_id)) touched.add(row.entry_id);
    }
  }

  /** Adds the entries that are not there yet, and finds their latest versions. */
  private async addEntries(
    manager: EntityManager,
    sourceId: number,
    claimSetOf: (version: IncomingVersion) => number,
    added: readonly IncomingVersion[],
    now: Date,
  ): Promise<NewEntries> {
    const latest = new Map<string, IncomingVersion>();
    const fresh = new Map<string, string>();
    for await (const batch of batches(added, BATCH)) {
      const rows = await manager.query<{ id: string; type: EntryType; name: string }[]>(
        `insert into entry (source_id, type, name, claim_set_id)
         select distinct $1::int, n.type, n.name, n.claim_set_id
         from unnest($2::text[], $3::text[], $4::int[]) as n(type, name, claim_set_id)
         on conflict (source_id, type, name) do nothing returning id, type, name`,
        [sourceId, batch.map(({ type }) => type), batch.map(({ name }) => name), batch.map(claimSetOf)],
      );
      for (const row of rows) fresh.set(entryOf(row), row.id);
      for (const version of batch) {
        const entry = entryOf(version);
        if (!fresh.has(entry)) continue;
        const other = latest.get(entry);
        if (!other || precedes(electable(version, now), electable(other, now))) latest.set(entry, version);
      }
    }
    return { entryIds: new Set(fresh.values()), versions: new Set(latest.values()) };
  }
}

/** The entries that came with a run. All of their versions came with it too. */
interface NewEntries {
  readonly entryIds: ReadonlySet<string>;
  /** The latest of each. */
  readonly versions: ReadonlySet<IncomingVersion>;
}

function electable(version: IncomingVersion, now: Date) {
  return { status: version.status, key: keyOf(version, now) };
}

function keyOf({ version, publishedAt }: IncomingVersion, now: Date): string {
  return versionKey(version, publishedAt ?? now);
}

function entryOf({ type, name }: Pick<IncomingVersion, 'type' | 'name'>): string {
  return `${type}\0${name}`;
}

function nameOf({ type, name, version }: Pick<IncomingVersion, 'type' | 'name' | 'version'>): string {
  return JSON.stringify([type, name, version]);
}

// One time for all rows of a run, from the database's clock because replicas' clocks differ.
async function transactionTime(manager: EntityManager): Promise<Date> {
  const rows = await manager.query<{ now: Date }[]>(`select date_trunc('milliseconds', now()) as now`);
  if (!rows[0]) throw new Error('The database told no time');
  return rows[0].now;
}

function countsOf(diff: CatalogDiff): WriteCounts {
  return {
    added: diff.added.length,
    changed: diff.changed.length,
    removed: diff.gone.length,
    unchanged: diff.unchanged,
  };
}
