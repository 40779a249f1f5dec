import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import type { EntityManager } from 'typeorm';
import { SyncedAdmission } from '../../admission/synced-admission.js';
import type { AdmittedContent, ConsideredBlocks, SyncedContent } from '../../admission/synced-content.js';
import { ClaimSetsRepository } from '../../claim-sets/claim-sets.repository.js';
import type { Claims } from '../../claims/claims.js';
import { limitsConfig } from '../../config/slices.js';
import { updateMany } from '../../database/bulk.js';
import { transactionTime } from '../../database/locks.js';
import {
  ENTRY_TYPES,
  entryMapKey,
  type EntryName,
  type IncomingVersion,
  versionMapKey,
  type VersionName,
} from '../../documents/entry-types.js';
import { batches, weighedBatches } from '../../limits/batches.js';
import { pauseIfDue } from '../../limits/time-slice.js';
import { isAmong, type RefusedVersion } from '../../entry-store/entry-limits.queries.js';
import { attachContent, queueContent } from '../../entry-store/entry-content.queries.js';
import { demoteUpstreamLatest } from '../../entry-store/latest-version.queries.js';
import { writeStatusInDocuments } from '../../entry-store/entry-documents.queries.js';
import {
  deleteEmptyEntries,
  deleteVersions,
  type EntryRow,
  insertEntries,
  noteChanged,
  settleVersions,
} from '../../entry-store/entry-rows.queries.js';
import { summaryOf, summaryTextOf } from '../../entry-store/entry-summary.js';
import { type VersionDiff, diffVersions, hasSameStatus, splitByEntry } from './version-diff.js';
import { EntryVersion, type StoredVersion, versionColumns } from '../../entry-store/entry.entity.js';
import { documentBytes, fittingVersions } from './entry-room.js';
import { findEntries, insertVersions, updateClaimSets } from './entry-writer.queries.js';
import { allVersions, versionsAmong, versionsOfEntries } from './stored-versions.queries.js';

/** Maximum rows per statement, for complete versions and for entry names or ids. */
const VERSIONS_PER_STATEMENT = 1_000;
const ENTRIES_PER_STATEMENT = 2_000;
/** Maximum document bytes per statement. Encoding more would block the event loop. */
const BYTES_PER_STATEMENT = 512 * 1024;
/** Maximum document bytes per COPY, because each COPY must finish within `statement_timeout`. */
const BYTES_PER_COPY = 16 * 1024 * 1024;

export interface WriteCounts {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  readonly unchanged: number;
}

export interface Written {
  readonly counts: WriteCounts;
  /** Versions that are not stored because their entry is full (reference/limits), or that admission rejected (§11). */
  readonly refused: readonly RefusedVersion[];
  /** Number of versions of the source that admission holds. */
  readonly held: number;
  readonly blocks: ConsideredBlocks;
}

/** The single version of an entry with claims of its own. */
export interface LabeledVersion {
  readonly version: IncomingVersion;
  readonly claims: Claims;
}

/** A subset of the entries of a source. */
export interface EntryScope {
  /** Null for all entries. */
  readonly only: readonly EntryName[] | null;
  readonly except: readonly EntryName[];
}

/** Returns the claim set id for the entry of a version. */
type ClaimSetOf = (version: IncomingVersion) => number;

/**
 * Writes entries of synced and watched sources, and increments the revision of the source; EntriesRepository writes published
 * entries. Runs in the caller's transaction, which must hold the source's row lock so that two runs cannot interleave.
 */
@Injectable()
export class EntryWriter {
  constructor(
    private readonly claimSets: ClaimSetsRepository,
    private readonly admission: SyncedAdmission,
    @Inject(limitsConfig.KEY) private readonly limits: ConfigType<typeof limitsConfig>,
  ) {}

  /**
   * Makes the entries of a source match `incoming`, as far as they fit their limits: deletes missing versions, does not
   * write unchanged versions, and elects the latest version of every changed entry.
   *
   * @param keepsUntilAdmitted whether to keep an entry's versions until one of its incoming versions is admitted. Set for
   *   sources with one version per entry, where a new version replaces the old one.
   */
  async replaceAll(
    manager: EntityManager,
    sourceId: number,
    claimSetId: number,
    incoming: readonly IncomingVersion[],
    keepsUntilAdmitted = false,
  ): Promise<Written> {
    const { fitting, refused } = await fittingVersions(manager, sourceId, incoming, null, this.limits);
    const stored = await allVersions(manager, sourceId);
    const mayStay = hasClaimSet(claimSetId);
    const content = { sourceId, incoming: fitting, stored, isGone: () => true, claimsOf: null, mayStay };
    const { split, diff: all } = await this.admit(manager, content, stored);
    const isKept = keepsUntilAdmitted ? notAdmitted(fitting, split) : () => false;
    const gone = all.gone.filter((version) => !(mayStay(version) && isKept(version)));
    const diff = { ...all, gone, unchanged: all.unchanged + all.gone.length - gone.length };
    await this.write(manager, sourceId, () => claimSetId, diff, split.contents);
    return writtenOf(diff, split, refused);
  }

  /**
   * Writes the versions in `changed`, removes any existing versions in `gone`, and keeps the source's other versions,
   * unless newer ones leave no room for them.
   */
  async applyChanges(
    manager: EntityManager,
    sourceId: number,
    claimSetId: number,
    changed: readonly IncomingVersion[],
    gone: readonly VersionName[],
  ): Promise<Written> {
    const { fitting, refused } = await fittingVersions(manager, sourceId, changed, gone, this.limits);
    const leaving = [...gone, ...refused];
    const isLeaving = isAmong(leaving);
    const stored = await versionsAmong(manager, sourceId, [...fitting, ...leaving]);
    const kept = stored.filter((version) => !isLeaving(version));
    const mayStay = hasClaimSet(claimSetId);
    const content = { sourceId, incoming: fitting, stored: kept, isGone: isLeaving, claimsOf: null, mayStay };
    const { split, diff: changes } = await this.admit(manager, content, kept);
    const diff = { ...changes, gone: [...changes.gone, ...stored.filter(isLeaving)] };
    const latest = fitting.filter(({ isUpstreamLatest }) => isUpstreamLatest);
    for await (const batch of batches(latest, ENTRIES_PER_STATEMENT))
      await demoteUpstreamLatest(manager, sourceId, batch);
    await this.write(manager, sourceId, () => claimSetId, diff, split.contents);
    return writtenOf(diff, split, refused);
  }

  /**
   * Works like `replaceAll`, but for entries with their own claims, which it also updates.
   *
   * @param scope the entries to replace; all others stay unchanged.
   */
  async replaceLabeled(
    manager: EntityManager,
    sourceId: number,
    incoming: readonly LabeledVersion[],
    { only, except }: EntryScope,
  ): Promise<Written> {
    const all = incoming.map(({ version }) => version);
    const { fitting, refused } = await fittingVersions(manager, sourceId, all, null, this.limits);
    const excepted = new Set(except.map(entryMapKey));
    const found = only
      ? await versionsOfEntries(manager, sourceId, only)
      : await allVersions(manager, sourceId);
    const stored = found.filter((version) => !excepted.has(entryMapKey(version)));
    const scope = only && new Set(only.map(entryMapKey));
    const isGone = (version: VersionName) =>
      !excepted.has(entryMapKey(version)) && (scope?.has(entryMapKey(version)) ?? true);
    const claimsByKey = new Map(incoming.map(({ version, claims }) => [versionMapKey(version), claims]));
    const claimsOf = (version: IncomingVersion): Claims => {
      const claims = claimsByKey.get(versionMapKey(version));
      if (!claims) throw new Error(`The claims of ${version.name} are unknown`);
      return claims;
    };
    const claimSets = await this.claimSets.findOrCreateAll(manager, fitting.map(claimsOf));
    const ofVersion = new Map(
      fitting.map((version, index) => [versionMapKey(version), claimSets[index]?.id ?? 0]),
    );
    const claimSetOf: ClaimSetOf = (version) => ofVersion.get(versionMapKey(version)) ?? 0;
    const mayStay = (version: StoredVersion, next: IncomingVersion) =>
      version.claimSetId === claimSetOf(next);
    const { split, diff } = await this.admit(
      manager,
      { sourceId, incoming: fitting, stored, isGone, claimsOf, mayStay },
      stored,
    );
    await this.write(manager, sourceId, claimSetOf, diff, split.contents);
    const relabeled = await this.relabel(manager, sourceId, claimSetOf, split.admitted);
    // Counts an entry once if both its version and its claims changed.
    for (const { stored: version } of [...diff.changed, ...diff.moved]) relabeled.delete(version.entryId);
    const written = writtenOf(diff, split, refused);
    const { counts } = written;
    return {
      ...written,
      counts: {
        ...counts,
        changed: counts.changed + relabeled.size,
        unchanged: counts.unchanged - relabeled.size,
      },
    };
  }

  /**
   * Asks admission about the content (reference/admission), and compares the admitted versions with the stored ones.
   */
  private async admit(
    manager: EntityManager,
    content: SyncedContent,
    stored: readonly StoredVersion[],
  ): Promise<{ readonly split: AdmittedContent; readonly diff: VersionDiff }> {
    const split = await this.admission.split(manager, content);
    if (split.staying === 0)
      return { split, diff: await diffVersions(stored, split.admitted, split.isOutdated) };
    const compared = stored.filter((version) => !split.stays(version));
    const diff = await diffVersions(compared, split.admitted, split.isOutdated);
    const staying = new Map(stored.filter(split.stays).map((version) => [versionMapKey(version), version]));
    // Only the document waits: a version that the upstream deprecates or deletes must not remain active.
    const restated = content.incoming.flatMap((incoming) => {
      const kept = staying.get(versionMapKey(incoming));
      return kept && !hasSameStatus(kept, incoming) ? [{ stored: kept, incoming }] : [];
    });
    return { split, diff: { ...diff, restated } };
  }

  private async write(
    manager: EntityManager,
    sourceId: number,
    claimSetOf: ClaimSetOf,
    diff: VersionDiff,
    contents: AdmittedContent['contents'],
  ): Promise<void> {
    const now = await transactionTime(manager);
    /** Ids of entries whose latest version must be elected. */
    const touched = new Set<string>();
    await this.remove(manager, diff.gone, touched);
    await this.change(manager, diff.changed, now, touched);
    await this.move(manager, diff.moved, touched);
    await this.restate(manager, diff.restated, now, touched);
    await this.add(manager, sourceId, claimSetOf, diff.added, now, touched);
    const changed = diff.changed.map(({ incoming }) => incoming);
    await attachContent(manager, sourceId, contents);
    await queueContent(manager, sourceId, [...diff.added, ...changed]);
    for await (const batch of batches([...touched], ENTRIES_PER_STATEMENT))
      await settleVersions(manager, sourceId, batch);
    // New entries already have the next revision.
    if (diff.added.length > 0) await noteChanged(manager, sourceId, []);
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
    changed: VersionDiff['changed'],
    now: Date,
    touched: Set<string>,
  ): Promise<void> {
    const weightOf = (change: VersionDiff['changed'][number]) => documentBytes(change.incoming);
    for await (const batch of weighedBatches(
      changed,
      VERSIONS_PER_STATEMENT,
      BYTES_PER_STATEMENT,
      weightOf,
    )) {
      const rowOf = ({ stored, incoming }: (typeof batch)[number]) => {
        const document = incoming.document.toString();
        const summary = summaryOf({ ...incoming, document });
        return { ...versionColumns(incoming, now, stored), document, summary, id: stored.versionId };
      };
      const rows: ReturnType<typeof rowOf>[] = [];
      for (const each of batch) {
        await pauseIfDue();
        rows.push(rowOf(each));
      }
      await updateMany(manager, EntryVersion, rows);
      for (const { stored } of batch) touched.add(stored.entryId);
    }
  }

  private async move(
    manager: EntityManager,
    moved: VersionDiff['moved'],
    touched: Set<string>,
  ): Promise<void> {
    for await (const batch of batches(moved, ENTRIES_PER_STATEMENT)) {
      await updateMany(
        manager,
        EntryVersion,
        batch.map(({ stored, versionKey }) => ({ id: stored.versionId, versionKey })),
      );
      for (const { stored } of batch) touched.add(stored.entryId);
    }
  }

  private async restate(
    manager: EntityManager,
    restated: VersionDiff['restated'],
    now: Date,
    touched: Set<string>,
  ): Promise<void> {
    for await (const batch of batches(restated, VERSIONS_PER_STATEMENT)) {
      for (const { stored, incoming } of batch) {
        const { entryId: id, type, version } = stored;
        touched.add(id);
        if (ENTRY_TYPES[type].hasStatusInDocument)
          await writeStatusInDocuments(manager, { id, type }, version, incoming.status);
      }
      await updateMany(
        manager,
        EntryVersion,
        batch.map(({ stored, incoming }) => {
          const { status, statusMessage, statusChangedAt, updatedAt } = versionColumns(incoming, now, stored);
          return { id: stored.versionId, status, statusMessage, statusChangedAt, updatedAt };
        }),
      );
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
    const { latest, others } = await splitByEntry(added, created, now);
    const known = await this.findEntryIds(manager, sourceId, others);
    const rowOf = (version: IncomingVersion) => {
      const entry = entryMapKey(version);
      const entryId = created.get(entry) ?? known.get(entry) ?? '';
      const { document } = version;
      const isLatest = latest.has(version);
      const summary = isLatest ? summaryTextOf(version) : null;
      return { ...versionColumns(version, now), document, entryId, isLatest, summary };
    };
    for await (const batch of weighedBatches(added, Infinity, BYTES_PER_COPY, documentBytes))
      await insertVersions(manager, mapped(batch, rowOf));
    for (const id of known.values()) touched.add(id);
  }

  /** Adds missing entries and returns their ids by name. */
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

  /** Updates the claim sets of these versions' entries and returns the ids of changed entries. */
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
    if (relabeled.size > 0) await noteChanged(manager, sourceId, []);
    return relabeled;
  }
}

/** Returns a filter for the stored versions of entries with this claim set. Others are hidden: see `inheritClaims`. */
function hasClaimSet(claimSetId: number): (version: StoredVersion) => boolean {
  return (version) => version.claimSetId === claimSetId;
}

/**
 * Returns a filter for the stored versions to keep: those that the sync did not read, of entries whose synced versions
 * are all held, or rejected by a person or webhook.
 */
function notAdmitted(
  incoming: readonly IncomingVersion[],
  { admitted, takenBack }: AdmittedContent,
): (version: VersionName) => boolean {
  const others = new Set([...admitted, ...takenBack].map(entryMapKey));
  const kept = new Set(incoming.map(entryMapKey).filter((key) => !others.has(key)));
  const known = new Set(incoming.map(versionMapKey));
  return (version) => kept.has(entryMapKey(version)) && !known.has(versionMapKey(version));
}

function* mapped<T, R>(items: readonly T[], map: (item: T) => R): Generator<R> {
  for (const item of items) yield map(item);
}

function entryRow(version: IncomingVersion, claimSetOf: ClaimSetOf): EntryRow {
  return { type: version.type, name: version.name, claimSetId: claimSetOf(version) };
}

function writtenOf(
  diff: VersionDiff,
  { staying, rejected, held, blocks }: AdmittedContent,
  refused: readonly RefusedVersion[],
): Written {
  const counts = {
    added: diff.added.length,
    changed: diff.changed.length + diff.moved.length + diff.restated.length,
    removed: diff.gone.length,
    unchanged: diff.unchanged + staying - diff.restated.length,
  };
  return { counts, refused: [...refused, ...rejected], held, blocks };
}
