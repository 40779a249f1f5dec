import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { Caller } from '../auth/caller.js';
import { AccessPolicy } from '../authz/access-policy.js';
import { canonicalClaims, type Claims, equalClaims } from '../claims/claims.js';
import { isStorable } from '../database/storable.js';
import type { SentBody } from '../http/body.js';
import { ApiError } from '../http/errors.js';
import { checkPreconditions, contentTag, type Preconditions } from '../http/preconditions.js';
import { JsonText } from '../http/json-answers.js';
import { type EntryType, isEntryType, withStatus } from '../documents/entry-types.js';
import { officialMeta } from '../documents/official-meta.js';
import { readClaimsRequest, readPublishRequest, readStatusRequest } from './publish-request.js';
import { PublishedEntries, type PublishedEntry, type PublishedVersion } from './published-entries.js';

/** An entry by what a path says of it. */
export interface EntryName {
  readonly type: string;
  readonly name: string;
}

/** A published entry that a request names, and the version when it names one. */
export interface LoadedEntry {
  readonly type: EntryType;
  readonly name: string;
  readonly entry: PublishedEntry;
  readonly version: PublishedVersion | undefined;
}

/** Ends a transaction without writing, and carries its answer out. */
class DryRun extends Error {
  constructor(readonly answer: string) {
    super('dry run');
  }
}

/** Publishing, and what becomes of what was published (spec §4.2, §4.3, contract §7). */
@Injectable()
export class EntriesService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly entries: PublishedEntries,
    private readonly policy: AccessPolicy,
  ) {}

  /**
   * spec §4.2: claims are required and a subset of the caller's; a later version has the claims of the first. A name
   * belongs to whoever published it first, by its claims.
   *
   * @param dryRun answers the same and writes nothing.
   */
  async publish(caller: Caller, { body, raw }: SentBody, dryRun: boolean): Promise<string> {
    const { version, claims } = readPublishRequest(body, raw);
    // A super-admin who sends no claims for a later version inherits; who may send none is said by checkPublish.
    this.policy.checkPublish(caller, claims);
    try {
      return await this.dataSource.transaction(async (manager) => {
        const sourceId = await this.entries.findManagedSource(manager);
        if (sourceId === undefined) throw new ApiError('no_managed_source');
        await this.entries.lockName(manager, version.type, version.name);
        const entry = await this.entries.find(manager, version.type, version.name);
        if (entry) this.checkLater(caller, entry, claims);
        if (entry && (await this.entries.versions(manager, entry.id, version.version)).length > 0)
          throw new ApiError('version_exists');
        const id = await this.entries.add(manager, sourceId, entry, claims, version);
        const [stored] = await this.entries.versions(manager, id, version.version);
        if (!stored) throw new Error('A version that was published is not there');
        const answer = describeVersion(version, entry?.claims ?? claims, stored);
        if (dryRun) throw new DryRun(answer);
        return answer;
      });
    } catch (error) {
      if (error instanceof DryRun) return error.answer;
      throw error;
    }
  }

  /**
   * The entry a request names, as far as the caller may manage it.
   *
   * @param version must be one of the entry's, when it is given.
   * @throws ApiError 404 for what is not there or none of theirs.
   */
  async load(caller: Caller, entryName: EntryName, version?: string): Promise<LoadedEntry> {
    const { manager } = this.dataSource;
    const type = typeOf(entryName);
    const entry = await this.getManageable(manager, caller, type, entryName.name);
    const stored = version === undefined ? undefined : await this.getStored(manager, entry, version);
    return { type, name: entryName.name, entry, version: stored };
  }

  async get({ type, name, entry }: LoadedEntry): Promise<JsonText> {
    const versions = await this.entries.versions(this.dataSource.manager, entry.id);
    // Its last version has gone since it was loaded.
    if (versions.length === 0) throw new ApiError('entry_not_found');
    return new JsonText(describeEntry(type, name, entry.claims, versions));
  }

  getVersion({ type, name, entry, version }: LoadedEntry): JsonText {
    if (!version) throw new Error('A version was asked for on a route that names none');
    return new JsonText(describeVersion({ type, name }, entry.claims, version));
  }

  getClaims({ entry }: LoadedEntry): JsonText {
    return new JsonText(JSON.stringify({ claims: entry.claims }), claimsTag(entry.claims));
  }

  /** spec §4.3: the caller must satisfy the claims there are, or the entry is none of theirs, and those to come. */
  async setClaims(
    caller: Caller,
    entryName: EntryName,
    { body, raw }: SentBody,
    preconditions: Preconditions,
  ): Promise<void> {
    const claims = readClaimsRequest(body, raw);
    await this.change(caller, entryName, async (manager, { entry }) => {
      this.policy.checkRelabel(caller, claims);
      checkPreconditions(preconditions, claimsTag(entry.claims));
      await this.entries.setClaims(manager, entry, claims);
    });
  }

  async removeVersion(caller: Caller, entryName: EntryName, version: string): Promise<void> {
    await this.change(caller, entryName, async (manager, { entry }) => {
      await this.getStored(manager, entry, version);
      await this.entries.remove(manager, entry, version);
    });
  }

  /** Sets the status of one version, or of all versions at once. */
  async setStatus(caller: Caller, entryName: EntryName, body: unknown, version?: string): Promise<JsonText> {
    const { status, message } = readStatusRequest(typeOf(entryName), body);
    return this.change(caller, entryName, async (manager, { type, entry }) => {
      const versions =
        version === undefined
          ? await this.entries.versions(manager, entry.id)
          : [await this.getStored(manager, entry, version)];
      const changed = versions.map((stored) => {
        const document = withStatus(type, stored.document, status);
        return { version: stored.version, document, digest: createHash('sha256').update(document).digest() };
      });
      await this.entries.setStatus(manager, entry, changed, status, message);
      if (version === undefined)
        return new JsonText(
          describeEntry(type, entryName.name, entry.claims, await this.entries.versions(manager, entry.id)),
        );
      const stored = await this.getStored(manager, entry, version);
      return new JsonText(describeVersion({ type, name: entryName.name }, entry.claims, stored));
    });
  }

  private async change<T>(
    caller: Caller,
    entryName: EntryName,
    work: (manager: EntityManager, found: { type: EntryType; entry: PublishedEntry }) => Promise<T>,
  ): Promise<T> {
    const type = typeOf(entryName);
    return this.dataSource.transaction(async (manager) => {
      await this.entries.lockName(manager, type, entryName.name);
      return work(manager, { type, entry: await this.getManageable(manager, caller, type, entryName.name) });
    });
  }

  // contract §4: equal claims for everyone; who may not see the name learns no more than that theirs differ.
  private checkLater(caller: Caller, entry: PublishedEntry, claims: Claims): void {
    if (this.policy.inheritsClaims(caller) && Object.keys(claims).length === 0) return;
    if (!this.policy.mayManage(caller, entry.claims) || !equalClaims(entry.claims, claims))
      throw new ApiError('claims_mismatch');
  }

  private async getManageable(
    manager: EntityManager,
    caller: Caller,
    type: EntryType,
    name: string,
  ): Promise<PublishedEntry> {
    const entry = await this.entries.find(manager, type, name);
    if (!entry || !this.policy.mayManage(caller, entry.claims)) throw new ApiError('entry_not_found');
    return entry;
  }

  private async getStored(
    manager: EntityManager,
    entry: PublishedEntry,
    version: string,
  ): Promise<PublishedVersion> {
    const [stored] = isStorable(version) ? await this.entries.versions(manager, entry.id, version) : [];
    if (!stored) throw new ApiError('version_not_found');
    return stored;
  }
}

function typeOf({ type, name }: EntryName): EntryType {
  if (isEntryType(type) && isStorable(name)) return type;
  throw new ApiError('entry_not_found');
}

function claimsTag(claims: Claims): string {
  return contentTag(canonicalClaims(claims));
}

function describeVersion(
  { type, name }: { readonly type: EntryType; readonly name: string },
  claims: Claims,
  stored: PublishedVersion,
): string {
  const head = JSON.stringify({ type, name, version: stored.version, claims }).slice(0, -1);
  return `${head},"${type}":${stored.document},"_meta":${officialMeta(stored)}}`;
}

function describeEntry(
  type: EntryType,
  name: string,
  claims: Claims,
  versions: readonly PublishedVersion[],
): string {
  return JSON.stringify({
    type,
    name,
    claims,
    versions: versions.map(({ version, status, statusMessage, isLatest, publishedAt, updatedAt }) => ({
      version,
      status,
      ...(statusMessage === null ? {} : { statusMessage }),
      isLatest,
      publishedAt,
      updatedAt,
    })),
  });
}
