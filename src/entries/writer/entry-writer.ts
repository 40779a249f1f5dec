import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { ClaimSetsRepository } from '../../claim-sets/claim-sets.repository.js';
import type { Claims } from '../../claims/claims.js';
import { transactionTime } from '../../database/clock.js';
import {
  entryMapKey,
  type EntryName,
  type IncomingVersion,
  versionMapKey,
  type VersionName,
} from '../../documents/incoming-version.js';
import { electLatest, precedes } from '../latest-version.queries.js';
import { insertSearchTexts } from '../search/search-texts.queries.js';
import { versionColumns } from './version-columns.js';
import { batches, weighedBatches } from './batches.js';
import { type CatalogDiff, diffCatalog, type StoredVersion } from './catalog-diff.js';
import {
  deleteEmptyEntries,
  deleteVersions,
  demoteUpstreamLatest,
  type EntryRow,
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
/** Characters of documents that a statement carries: encoding more of them would hold the event loop up. */
const TEXT_PER_STATEMENT = 512 * 1024;

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
    for await (const batch of batchesOfText(changed, ({ incoming }) => incoming.text)) {
      const rows = batch.map(({ stored, incoming }) => ({
        ...versionColumns(incoming, now, stored),
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
    const created = await this.addEntries(manager, sourceId, claimSetOf, added, now);
    // Many at a time: their index takes in what a statement writes all together.
    for await (const batch of batches(added, VERSIONS_PER_STATEMENT))
      await insertSearchTexts(manager, sourceId, batch);
    for await (const batch of batchesOfText(added, ({ text }) => text)) {
      const rows = batch.map((version) => ({
        ...versionColumns(version, now),
        type: version.type,
        name: version.name,
        isLatest: created.latest.has(version),
      }));
      for (const entryId of await insertVersions(manager, sourceId, rows))
        if (!created.ids.has(entryId)) touched.add(entryId);
    }
  }

  /** Adds the entries that are not there yet, and finds their latest versions. */
  private async addEntries(
    manager: EntityManager,
    sourceId: number,
    claimSetOf: ClaimSetOf,
    added: readonly IncomingVersion[],
    now: Date,
  ): Promise<CreatedEntries> {
    const ids = new Map<string, string>();
    const latest = new Map<string, IncomingVersion>();
    for await (const batch of batches(added, VERSIONS_PER_STATEMENT)) {
      const rows = batch.map((version) => entryRow(version, claimSetOf));
      for (const row of await insertEntries(manager, sourceId, rows)) ids.set(entryMapKey(row), row.id);
      for (const version of batch) {
        const entry = entryMapKey(version);
        if (!ids.has(entry)) continue;
        const other = latest.get(entry);
        if (!other || precedes(versionColumns(version, now), versionColumns(other, now)))
          latest.set(entry, version);
      }
    }
    return { ids: new Set(ids.values()), latest: new Set(latest.values()) };
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

/** The entries that came with a run. All of their versions came with it too. */
interface CreatedEntries {
  readonly ids: ReadonlySet<string>;
  /** The latest version of each. */
  readonly latest: ReadonlySet<IncomingVersion>;
}

function batchesOfText<T>(items: readonly T[], textOf: (item: T) => string): AsyncGenerator<T[]> {
  return weighedBatches(items, VERSIONS_PER_STATEMENT, TEXT_PER_STATEMENT, (item) => textOf(item).length);
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
