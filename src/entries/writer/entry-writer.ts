import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { ClaimSetsRepository } from '../../claim-sets/claim-sets.repository.js';
import type { Claims } from '../../claims/claims.js';
import { transactionTime } from '../../database/columns.js';
import {
  entryMapKey,
  type EntryName,
  type IncomingVersion,
  versionMapKey,
  type VersionName,
} from '../../documents/incoming-version.js';
import { electLatest } from '../entry-status.queries.js';
import { insertSearchTexts } from '../search-texts.queries.js';
import {
  batches,
  type CatalogDiff,
  diffCatalog,
  sortOut,
  type StoredVersion,
  weighedBatches,
} from './catalog-diff.js';
import { versionColumns } from './copy-rows.queries.js';
import {
  deleteEmptyEntries,
  deleteVersions,
  demoteUpstreamLatest,
  type EntryRow,
  findEntries,
  insertEntries,
  insertVersions,
  updateClaimSets,
  updateVersionKeys,
  updateVersions,
} from './entry-writer.queries.js';
import { allVersions, versionsAmong, versionsOfEntries } from './stored-versions.queries.js';

/** Rows a statement carries: of whole versions, and of entries by name or id alone. */
const VERSIONS_PER_STATEMENT = 1_000;
const ENTRIES_PER_STATEMENT = 2_000;
/** Documents that a statement carries: encoding more of them would hold the event loop up. */
const BYTES_PER_STATEMENT = 512 * 1024;
/** Documents that one COPY carries, which is sent in pieces: a statement may not take longer than `statement_timeout`. */
const BYTES_PER_COPY = 16 * 1024 * 1024;

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

/** Some of the entries of a source. */
export interface EntryScope {
  /** Null: all there are. */
  readonly only: readonly EntryName[] | null;
  readonly except: readonly EntryName[];
}

/** Which claim set the entry of a version is created with. */
type ClaimSetOf = (version: IncomingVersion) => number;

/**
 * Writes what sources bring; what is published is written by EntriesRepository. Runs inside its caller's transaction, which
 * holds the row lock of the source, so that two runs can't interleave.
 */
@Injectable()
export class EntryWriter {
  constructor(private readonly claimSets: ClaimSetsRepository) {}

  /**
   * Makes the entries of a source equal `incoming`. Versions whose digest is unchanged are not touched; what left the
   * source is deleted; each entry's latest version is found anew where something changed.
   */
  async replaceAll(
    manager: EntityManager,
    sourceId: number,
    claimSetId: number,
    incoming: readonly IncomingVersion[],
  ): Promise<WriteCounts> {
    const diff = await diffCatalog(await allVersions(manager, sourceId), incoming);
    await this.write(manager, sourceId, () => claimSetId, diff);
    return countsOf(diff);
  }

  /**
   * Writes the versions in `changed`, removes those in `gone`, and leaves all others of the source as they are. What is gone
   * already is no error. Otherwise as `replaceAll`.
   */
  async applyChanges(
    manager: EntityManager,
    sourceId: number,
    claimSetId: number,
    changed: readonly IncomingVersion[],
    gone: readonly VersionName[],
  ): Promise<WriteCounts> {
    const stored = await versionsAmong(manager, sourceId, [...changed, ...gone]);
    const leaving = new Set(gone.map(versionMapKey));
    const isLeaving = (version: StoredVersion) => leaving.has(versionMapKey(version));
    const kept = stored.filter((version) => !isLeaving(version));
    const diff = { ...(await diffCatalog(kept, changed)), gone: stored.filter(isLeaving) };
    const latest = changed.filter(({ isUpstreamLatest }) => isUpstreamLatest);
    for await (const batch of batches(latest, ENTRIES_PER_STATEMENT))
      await demoteUpstreamLatest(manager, sourceId, batch);
    await this.write(manager, sourceId, () => claimSetId, diff);
    return countsOf(diff);
  }

  /**
   * As `replaceAll`, for entries that each have claims of their own, which follow also where nothing else changed.
   *
   * @param scope the entries that are made equal to `incoming`; all others are left as they are.
   */
  async replaceLabeled(
    manager: EntityManager,
    sourceId: number,
    incoming: readonly LabeledVersion[],
    { only, except }: EntryScope,
  ): Promise<WriteCounts> {
    const versions = incoming.map(({ version }) => version);
    const excepted = new Set(except.map(entryMapKey));
    const found = only
      ? await versionsOfEntries(manager, sourceId, only)
      : await allVersions(manager, sourceId);
    const stored = found.filter((version) => !excepted.has(entryMapKey(version)));
    const diff = await diffCatalog(stored, versions);
    const claimSetIds = await this.claimSets.findOrCreateAll(
      manager,
      incoming.map(({ claims }) => claims),
    );
    const ofVersion = new Map(versions.map((version, index) => [version, claimSetIds[index] ?? 0]));
    const claimSetOf: ClaimSetOf = (version) => ofVersion.get(version) ?? 0;
    await this.write(manager, sourceId, claimSetOf, diff);
    const relabeled = await this.relabel(manager, sourceId, claimSetOf, versions);
    // What changed in both ways is counted once.
    for (const { stored: version } of [...diff.changed, ...diff.moved]) relabeled.delete(version.entryId);
    const counts = countsOf(diff);
    return {
      ...counts,
      changed: counts.changed + relabeled.size,
      unchanged: counts.unchanged - relabeled.size,
    };
  }

  private async write(
    manager: EntityManager,
    sourceId: number,
    claimSetOf: ClaimSetOf,
    diff: CatalogDiff,
  ): Promise<void> {
    const now = await transactionTime(manager);
    /** The entries whose latest version may be another one now. */
    const touched = new Set<string>();
    await this.remove(manager, diff.gone, touched);
    await this.change(manager, sourceId, diff.changed, now, touched);
    await this.move(manager, diff.moved, touched);
    await this.add(manager, sourceId, claimSetOf, diff.added, now, touched);
    for await (const batch of batches([...touched], ENTRIES_PER_STATEMENT)) await electLatest(manager, batch);
  }

  private async remove(
    manager: EntityManager,
    gone: readonly StoredVersion[],
    touched: Set<string>,
  ): Promise<void> {
    for await (const batch of batches(gone, VERSIONS_PER_STATEMENT)) {
      await deleteVersions(
        manager,
        batch.map(({ versionId }) => versionId),
      );
      const entryIds = [...new Set(batch.map(({ entryId }) => entryId))];
      for (const id of entryIds) touched.add(id);
      for (const id of await deleteEmptyEntries(manager, entryIds)) touched.delete(id);
    }
  }

  private async change(
    manager: EntityManager,
    sourceId: number,
    changed: CatalogDiff['changed'],
    now: Date,
    touched: Set<string>,
  ): Promise<void> {
    const weightOf = (change: CatalogDiff['changed'][number]) => documentBytes(change.incoming);
    for await (const batch of weighedBatches(
      changed,
      VERSIONS_PER_STATEMENT,
      BYTES_PER_STATEMENT,
      weightOf,
    )) {
      const rows = batch.map(({ stored, incoming }) => ({
        ...versionColumns(incoming, now, stored),
        document: incoming.document,
        id: stored.versionId,
      }));
      await insertSearchTexts(
        manager,
        sourceId,
        batch.map(({ incoming }) => incoming),
      );
      await updateVersions(manager, rows);
      for (const { stored } of batch) touched.add(stored.entryId);
    }
  }

  private async move(
    manager: EntityManager,
    moved: CatalogDiff['moved'],
    touched: Set<string>,
  ): Promise<void> {
    for await (const batch of batches(moved, ENTRIES_PER_STATEMENT)) {
      await updateVersionKeys(
        manager,
        batch.map(({ stored, versionKey }) => ({ id: stored.versionId, versionKey })),
      );
      for (const { stored } of batch) touched.add(stored.entryId);
    }
  }

  private async add(
    manager: EntityManager,
    sourceId: number,
    claimSetOf: ClaimSetOf,
    added: readonly IncomingVersion[],
    now: Date,
    touched: Set<string>,
  ): Promise<void> {
    const created = await this.addEntries(manager, sourceId, claimSetOf, added);
    const { latest, others } = await sortOut(added, created, now);
    const known = await this.findEntryIds(manager, sourceId, others);
    const rowOf = (version: IncomingVersion) => {
      const entry = entryMapKey(version);
      const entryId = created.get(entry) ?? known.get(entry) ?? '';
      const { document } = version;
      return { ...versionColumns(version, now), document, entryId, isLatest: latest.has(version) };
    };
    // Many at a time: their index takes in what a statement writes all together.
    for await (const batch of batches(added, VERSIONS_PER_STATEMENT))
      await insertSearchTexts(manager, sourceId, batch);
    for await (const batch of weighedBatches(added, Infinity, BYTES_PER_COPY, documentBytes))
      await insertVersions(manager, mapped(batch, rowOf));
    for (const id of known.values()) touched.add(id);
  }

  /** Adds the entries that are not there yet, and returns their ids by name. All of their versions come with them. */
  private async addEntries(
    manager: EntityManager,
    sourceId: number,
    claimSetOf: ClaimSetOf,
    added: readonly IncomingVersion[],
  ): Promise<Map<string, string>> {
    const seen = new Set<string>();
    const ids = new Map<string, string>();
    for await (const batch of batches(added, ENTRIES_PER_STATEMENT)) {
      const rows: EntryRow[] = [];
      for (const version of batch) {
        const entry = entryMapKey(version);
        if (!seen.has(entry)) rows.push(entryRow(version, claimSetOf));
        seen.add(entry);
      }
      for (const row of await insertEntries(manager, sourceId, rows)) ids.set(entryMapKey(row), row.id);
    }
    return ids;
  }

  private async findEntryIds(
    manager: EntityManager,
    sourceId: number,
    names: readonly EntryName[],
  ): Promise<Map<string, string>> {
    const ids = new Map<string, string>();
    for await (const batch of batches(names, ENTRIES_PER_STATEMENT))
      for (const row of await findEntries(manager, sourceId, batch)) ids.set(entryMapKey(row), row.id);
    return ids;
  }

  /** Gives the entries of these versions their claim sets, and returns the ids of those that had another one. */
  private async relabel(
    manager: EntityManager,
    sourceId: number,
    claimSetOf: ClaimSetOf,
    versions: readonly IncomingVersion[],
  ): Promise<Set<string>> {
    const relabeled = new Set<string>();
    for await (const batch of batches(versions, ENTRIES_PER_STATEMENT)) {
      const rows = batch.map((version) => entryRow(version, claimSetOf));
      for (const id of await updateClaimSets(manager, sourceId, rows)) relabeled.add(id);
    }
    return relabeled;
  }
}

function* mapped<T, R>(items: readonly T[], map: (item: T) => R): Generator<R> {
  for (const item of items) yield map(item);
}

function documentBytes({ document }: IncomingVersion): number {
  return document.length;
}

function entryRow(version: IncomingVersion, claimSetOf: ClaimSetOf): EntryRow {
  return { type: version.type, name: version.name, claimSetId: claimSetOf(version) };
}

function countsOf(diff: CatalogDiff): WriteCounts {
  return {
    added: diff.added.length,
    changed: diff.changed.length + diff.moved.length,
    removed: diff.gone.length,
    unchanged: diff.unchanged,
  };
}
