import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, Repository } from 'typeorm';
import type { AuditTarget, Publisher } from '../audit/audit-event.js';
import type { ChangeEvent } from '../audit/audit-trail.js';
import { ClaimSetsRepository } from '../claim-sets/claim-sets.repository.js';
import { type Claims, equalClaims, givenForm } from '../claims/claims.js';
import { ENTRY_TYPES, type EntryName, type IncomingVersion, isBareType } from '../documents/entry-types.js';
import type { Status } from '../documents/statuses.js';
import { MANAGED_KIND } from '../source-kinds/kinds.js';
import { isStorable } from '../validation/storable-text.js';
import type { Members } from '../members/members.responses.js';
import { type ContentAnswer, contentStates, queueContent } from './entry-content.queries.js';
import { NEWEST_IN_BATCH, writeStatusInDocuments } from './entry-documents.queries.js';
import { PartitionLimit } from './entry-limits.queries.js';
import {
  deleteEmptyEntries,
  noteChanged,
  type PublishedEntry,
  settleVersions,
} from './entry-rows.queries.js';
import { summaryOf } from './entry-summary.js';
import { Entry, EntryVersion, versionColumns, type VersionSummary } from './entry.entity.js';
import { precedes } from './latest-version.queries.js';

/**
 * Entries of the managed source. Writing methods run in the caller's transaction, which must hold the entry's lock
 * (`lockEntry`, which returns `now`). They increment the source's revision.
 */
@Injectable()
export class EntriesRepository {
  constructor(
    @InjectRepository(Entry) private readonly entries: Repository<Entry>,
    private readonly claimSets: ClaimSetsRepository,
    private readonly limit: PartitionLimit,
  ) {}

  /** Returns an entry with its claims and, if it exists, the given version. */
  async findByName(
    { type, name }: EntryName,
    version?: string,
    manager: EntityManager = this.entries.manager,
  ): Promise<Entry | null> {
    if (!isStorable(name)) return null;
    const query = manager
      .getRepository(Entry)
      .createQueryBuilder('entry')
      .innerJoin('entry.source', 'source', 'source.kind = :kind', { kind: MANAGED_KIND })
      .addSelect(['source.id', 'source.name'])
      .innerJoinAndSelect('entry.claimSet', 'claimSet')
      .where('entry.type = :type and entry.name = :name', { type, name });
    if (version !== undefined) {
      const isNamed = isStorable(version) ? 'version.version = :version' : 'false';
      query.leftJoinAndSelect('entry.versions', 'version', isNamed, { version });
    }
    return query.getOne();
  }

  /** Returns all versions of an entry, newest first. */
  async versions({ id }: Entry, manager: EntityManager = this.entries.manager): Promise<VersionSummary[]> {
    return manager.find(EntryVersion, { where: { entryId: id }, order: { versionKey: 'DESC' } });
  }

  /** Returns a version with its document; null if it has been removed. */
  async withDocument({ id }: VersionSummary): Promise<EntryVersion | null> {
    return this.entries.manager
      .createQueryBuilder(EntryVersion, 'version')
      .addSelect('version.document')
      .where({ id })
      .getOne();
  }

  /** Returns the newest versions with their documents: as many as fit into 1 MiB, but at least one. */
  async newestWithDocuments({ id }: Entry): Promise<EntryVersion[]> {
    return this.entries.manager
      .createQueryBuilder(EntryVersion, 'version')
      .addSelect('version.document')
      .where(`version.id in (${NEWEST_IN_BATCH})`, { id })
      .orderBy('version.versionKey', 'DESC')
      .getMany();
  }

  /** Returns the state of the content of these versions, by version id; empty for a type without content. */
  async contentStates(
    { type }: Entry,
    versions: readonly VersionSummary[],
    mayFetch: boolean,
  ): Promise<ReadonlyMap<string, ContentAnswer>> {
    if (!isBareType(type)) return new Map();
    const ids = versions.map(({ id }) => id);
    return contentStates(this.entries.manager, ids, mayFetch);
  }

  /** Returns the members of a version; none if it has no content. */
  async membersOf({ id: versionId }: VersionSummary): Promise<{ readonly members?: Members }> {
    const found = await this.entries.manager
      .createQueryBuilder('version_content', 'content')
      .innerJoin('content.list', 'tree')
      .select('tree.members', 'members')
      .where({ versionId })
      .getRawOne<{ members: Members }>();
    return found ?? {};
  }

  /**
   * Adds a version to an entry, creating the entry if necessary.
   *
   * @param ofEntry the entry, which lacks the version, or the claims of a new one.
   */
  async add(
    manager: EntityManager,
    ofEntry: PublishedEntry | NewEntry,
    version: NewVersion,
  ): Promise<EntryVersion> {
    const { sourceId } = ofEntry;
    const [entryId, latest] =
      'id' in ofEntry
        ? [ofEntry.id, ofEntry.latest]
        : [await this.addEntry(manager, version.incoming, ofEntry), null];
    const added = await this.addVersion(manager, entryId, version, latest);
    await queueContent(manager, sourceId, [version.incoming]);
    await noteChanged(manager, sourceId, [entryId]);
    return added;
  }

  private async addEntry(
    manager: EntityManager,
    { type, name }: EntryName,
    { sourceId, claims }: NewEntry,
  ): Promise<string> {
    const { id: claimSetId } = await this.claimSets.findOrCreate(manager, claims);
    const entry = manager.create(Entry, { sourceId, type, name, claimSetId, givenClaims: givenForm(claims) });
    await manager.insert(Entry, entry);
    await this.limit.check(manager, sourceId, claimSetId);
    return entry.id;
  }

  /** @param latest the current latest version; null for a new entry. */
  private async addVersion(
    manager: EntityManager,
    entryId: string,
    { incoming, publishedBy, now }: NewVersion,
    latest: PublishedEntry['latest'] | null,
  ): Promise<EntryVersion> {
    const columns = versionColumns(incoming, now);
    const isLatest = latest === null || precedes(columns, latest);
    if (isLatest && latest !== null)
      await manager.update(EntryVersion, { entryId, isLatest: true }, { isLatest: false });
    const document = incoming.document.toString();
    const summary = isLatest ? summaryOf({ ...incoming, document }) : null;
    const version = manager.create(EntryVersion, {
      ...columns,
      entryId,
      document,
      publishedBy,
      isLatest,
      summary,
    });
    await manager.insert(EntryVersion, version);
    return version;
  }

  /** Removes a version; removing the last one removes the entry. */
  async removeVersion(manager: EntityManager, entry: Entry, { id }: VersionSummary): Promise<void> {
    await manager.delete(EntryVersion, { id });
    await deleteEmptyEntries(manager, [entry.id]);
    await settleVersions(manager, entry.sourceId, [entry.id]);
  }

  /** Sets the claims of an entry, which apply to all its versions. */
  async setClaims(manager: EntityManager, entry: Entry, claims: Claims): Promise<void> {
    const claimSet = await this.claimSets.findOrCreate(manager, claims);
    await manager.update(
      Entry,
      { id: entry.id },
      { claimSetId: claimSet.id, givenClaims: givenForm(claims) },
    );
    if (!equalClaims(entry.claimSet.claims, claims))
      await this.limit.check(manager, entry.sourceId, claimSet.id);
    await noteChanged(manager, entry.sourceId, [entry.id]);
  }

  /**
   * Sets the status of one version, or of all, including the status in documents that contain it. Skips versions that
   * already have this status and message.
   *
   * @param version null for all versions.
   */
  async setStatus(
    manager: EntityManager,
    { id, type, sourceId }: Entry,
    version: string | null,
    { status, message, now }: NewStatus,
  ): Promise<void> {
    if (ENTRY_TYPES[type].hasStatusInDocument)
      await writeStatusInDocuments(manager, { id, type }, version, status);
    const statusChangedAt = () => 'case when status = :status then status_changed_at else :now end';
    await manager
      .createQueryBuilder()
      .update(EntryVersion)
      .set({ status, statusMessage: message, updatedAt: now, statusChangedAt })
      .where({ entryId: id, ...(version === null ? {} : { version }) })
      .andWhere('(status <> :status or status_message is distinct from :message)', { status, message, now })
      .execute();
    await settleVersions(manager, sourceId, [id]);
  }
}

interface NewEntry {
  readonly sourceId: number;
  /** The claims as given. */
  readonly claims: Claims;
}

/** A version to insert, with the values that the database does not know. */
interface NewVersion {
  readonly incoming: IncomingVersion;
  readonly publishedBy: Publisher | null;
  readonly now: Date;
}

export interface NewStatus {
  readonly status: Status;
  readonly message: string | null;
  readonly now: Date;
}

export function targetOf({ type, name }: EntryName, source: string, version?: string): AuditTarget {
  return { type, name, ...(version === undefined ? {} : { version }), source };
}

/**
 * Returns the event for a publication.
 *
 * @param claims as shown in the audit trail.
 */
export function publicationEvent(source: string, version: IncomingVersion, claims: Claims): ChangeEvent {
  const { status, digest } = version;
  return {
    action: 'entry.publish',
    target: targetOf(version, source, version.version),
    claims: [claims],
    change: { after: { claims, status, sha256: digest.toString('hex') } },
  };
}

/**
 * Returns the event for changed claims of an entry, if they changed.
 *
 * @param after as shown in the audit trail.
 */
export function claimsEvents(entry: Entry, after: Claims): ChangeEvent[] {
  const before = entry.shownClaims;
  if (isDeepStrictEqual(before, after)) return [];
  return [
    {
      action: 'entry.claims.update',
      target: targetOf(entry, entry.source.name),
      claims: [before, after],
      change: { before: { claims: before }, after: { claims: after } },
    },
  ];
}

/** Returns the versions whose status or message would change. */
export function changingVersions(
  versions: readonly VersionSummary[],
  after: Pick<EntryVersion, 'status' | 'statusMessage'>,
): readonly VersionSummary[] {
  return versions.filter(
    ({ status, statusMessage }) => status !== after.status || statusMessage !== after.statusMessage,
  );
}

/** Returns the event for changed statuses, if any changed. @param version absent for a change to all versions. */
export function statusEvents(
  entry: Entry,
  versions: readonly VersionSummary[],
  after: Pick<EntryVersion, 'status' | 'statusMessage'>,
  version?: string,
): ChangeEvent[] {
  const changing = changingVersions(versions, after);
  if (changing.length === 0) return [];
  return [
    {
      action: 'entry.status',
      target: targetOf(entry, entry.source.name, version),
      claims: [entry.claims],
      change: {
        before: { versions: changing.map((one) => ({ version: one.version, ...statusOf(one) })) },
        after: statusOf(after),
      },
    },
  ];
}

/** Returns the status of a version for the audit trail. */
export function statusOf({ status, statusMessage }: Pick<EntryVersion, 'status' | 'statusMessage'>): object {
  return { status, ...(statusMessage === null ? {} : { statusMessage }) };
}
