import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import type { Request } from 'express';
import type { EntityManager } from 'typeorm';
import { AuditTrail, type ChangeEvent, type Requester } from '../audit/audit-trail.js';
import type { Claims } from '../claims/claims.js';
import { ContentAdmission } from '../admission/content-admission.queries.js';
import { DueItems } from '../admission/due-items.queries.js';
import { contentsOf } from '../members/members.js';
import { type HeldPublication, HeldPublications } from '../admission/held-content.queries.js';
import type { EntryName, EntryType } from '../documents/entry-types.js';
import { limitLockWaits, lockEntry } from '../database/locks.js';
import type { Members } from '../members/members.responses.js';
import { type IncomingContent, type TreeSummary, withMembers } from './content-tree.js';
import { type Caller, callerKeyOf, personKey } from '../auth/caller.js';
import { isReviewer, type ReviewRule, reviewRuleOf } from '../admission/review-rules.js';
import { contentConfig } from '../config/slices.js';
import { PoolSemaphores } from '../database/connection-pool.js';
import { EntriesService, type EntryPath } from '../entries/entries.service.js';
import { targetOf } from '../entry-store/entries.repository.js';
import type { Entry } from '../entry-store/entry.entity.js';
import { PublishRules } from '../entries/publish-rules.js';
import { ApiError, ClientGone } from '../http/errors.js';
import type { Client } from '../http/request-context.js';
import { withinQuota } from '../http/server-limits.js';
import { Quota } from '../limits/quota.js';
import { type ManagedSource, shareManaged } from '../sources/sources.repository.js';
import { inTemporaryFolder, UnpackedFiles, unpackArchive } from './archive.js';
import { ContentStore } from './content-store.queries.js';
import { contentProblems } from './skill-file.js';

/**
 * Maximum concurrent uploads per replica, plus a reserve (see Quota), and per caller: each may need twice
 * `content.maxBytesPerVersion` on disk.
 */
const MAX_UPLOADS = 8;
const MAX_UPLOADS_PER_CALLER = 2;
const TOO_MANY = `You are already uploading ${MAX_UPLOADS_PER_CALLER} archives, the maximum: try again shortly`;
/** Headers can make an archive larger than its files. */
const MAX_OVERHEAD_BYTES = 1024 * 1024;

const MEDIA_TYPES = [
  'application/zip',
  'application/x-zip-compressed',
  'application/gzip',
  'application/x-gzip',
  'application/tar+gzip',
  'application/x-tar',
  'application/x-gtar',
  'application/x-compressed-tar',
  'application/octet-stream',
];

/** A stored version, loaded with its entry, or a held publication. */
export type UploadTarget = { readonly entry: Entry } | HeldPublication;

/** Receives the content of published versions (reference/content). */
@Injectable()
export class ContentUploads {
  private readonly uploads = new Quota({
    total: MAX_UPLOADS,
    perKey: MAX_UPLOADS_PER_CALLER,
    reserve: true,
  });

  constructor(
    private readonly store: ContentStore,
    private readonly audit: AuditTrail,
    private readonly admission: ContentAdmission,
    private readonly due: DueItems,
    private readonly entries: EntriesService,
    private readonly held: HeldPublications,
    private readonly rules: PublishRules,
    private readonly semaphores: PoolSemaphores,
    @Inject(contentConfig.KEY) private readonly limits: ConfigType<typeof contentConfig>,
  ) {}

  /**
   * Returns the version in the path: a held one that waits for its content and that the caller published, or else a
   * stored one.
   *
   * @throws ApiError 404 `entry_not_found`, `version_not_found`.
   */
  async load(caller: Caller, path: EntryPath, version: string): Promise<UploadTarget> {
    const held = await this.held.publishedBy(caller, { ...path, version });
    return held ?? { entry: await this.entries.load(caller, path, version) };
  }

  /**
   * Stores the archive in the body as the content of a version.
   *
   * @throws ApiError 400 `invalid_archive`, `claims_not_subset`, `name_reserved`; 404; 409 `content_exists`; 413
   *   `content_too_large`; 415; 429 `too_many_requests`; 503 `overloaded`; 507 `content_full`.
   */
  async upload(requester: Requester, client: Client, target: UploadTarget, request: Request): Promise<void> {
    const key = callerKeyOf(requester.caller, client);
    await this.checkVersion(target);
    checkMediaType(request);
    const store = () =>
      inTemporaryFolder((folder) => this.storeArchive(requester, client, target, request, folder));
    await withinQuota(this.uploads, key, store, TOO_MANY);
  }

  private async checkVersion(target: UploadTarget): Promise<void> {
    const { type } = 'entry' in target ? target.entry : target;
    if (type === 'server') throw new ApiError('invalid_archive', 'Only skills and plugins have content');
    if ('entry' in target) {
      const [version] = target.entry.versions;
      if (!version) throw new ApiError('version_not_found');
      if ((await this.store.digestsOf([version.id])).size > 0) throw new ApiError('content_exists');
    } else if (target.hasContent) throw new ApiError('content_exists');
  }

  private async storeArchive(
    requester: Requester,
    client: Client,
    target: UploadTarget,
    request: Request,
    folder: string,
  ): Promise<void> {
    const { maxBytesPerVersion } = this.limits;
    const archive = join(folder, 'archive');
    await receive(request, archive, maxBytesPerVersion + MAX_OVERHEAD_BYTES);
    const unpacked = new UnpackedFiles(folder, maxBytesPerVersion);
    await unpackArchive(archive, unpacked);
    const files = unpacked.finish();
    const { type, document } = await this.documentOf(target);
    const problems = await contentProblems(type, document, files);
    if (problems.length > 0)
      throw new ApiError('invalid_archive', 'The archive does not match the document', problems);
    const content = await withMembers(files);
    const key = callerKeyOf(requester.caller, client);
    await this.semaphores.changes.run(key, client.abortSignal(), () =>
      'entry' in target
        ? this.storeForEntry(requester, target.entry, content)
        : this.storeForHeld(requester, target, content),
    );
  }

  private async documentOf(target: UploadTarget): Promise<{ type: EntryType; document: string }> {
    if (!('entry' in target)) return target;
    const [named] = target.entry.versions;
    const [version] = await this.entries.documentsOf(target.entry, named?.version ?? '');
    if (!version) throw new ApiError('version_not_found');
    return { type: target.entry.type, document: version.document };
  }

  private storeForEntry(requester: Requester, entry: Entry, content: IncomingContent): Promise<void> {
    const [{ id: versionId = '', version = '' } = {}] = entry.versions;
    let tree: TreeSummary;
    return this.entries.change(
      requester,
      entry,
      version,
      async (manager, found) => {
        const source = await this.checkMayPublish(manager, requester.caller, found, found.claims);
        checkReview(requester.caller, found, source.settings.review, content.members);
        // The review rules have just been applied.
        await this.admission.attach(manager, { versionId }, tree.digest, 'blocks');
        const target = targetOf(found, source.name, version);
        return { result: undefined, events: [contentEvent(target, found.claims, tree, content)] };
      },
      async (manager) => {
        tree = await this.writeFiles(manager, content);
      },
    );
  }

  private async storeForHeld(
    requester: Requester,
    { id: itemId, type, name, version }: HeldPublication,
    content: IncomingContent,
  ): Promise<void> {
    const { caller } = requester;
    await this.audit.transaction(requester, async (manager) => {
      const tree = await this.writeFiles(manager, content);
      await lockEntry(manager, type, name);
      const found = await this.held.publishedBy(caller, { type, name, version }, manager);
      if (found?.id !== itemId) throw new ApiError('entry_not_found');
      const { claims } = found;
      const source = await this.checkMayPublish(manager, caller, { type, name }, claims);
      await this.admission.attach(manager, { itemId }, tree.digest, 'all');
      const target = { type, name, version, source: source.name };
      return { result: undefined, events: [contentEvent(target, claims, tree, content)] };
    });
    this.due.pollNow();
  }

  // Changes to blocks and to the entry need not wait while files are written.
  private async writeFiles(manager: EntityManager, content: IncomingContent): Promise<TreeSummary> {
    await limitLockWaits(manager);
    return this.store.write(manager, content);
  }

  /** reference/content: anyone who may publish another version may upload content. */
  private async checkMayPublish(
    manager: EntityManager,
    caller: Caller,
    entry: EntryName,
    claims: Claims,
  ): Promise<ManagedSource> {
    const source = await shareManaged(manager);
    this.rules.checkSource(source);
    this.rules.checkPublisher(caller, claims);
    this.rules.checkName(caller, entry, claims, source.settings.names);
    return source;
  }
}

function contentEvent(
  target: ChangeEvent['target'],
  claims: Claims,
  { digest, bytes }: TreeSummary,
  { files }: IncomingContent,
): ChangeEvent {
  const after = { sha256: digest, bytes, files: files.length };
  return { action: 'entry.content', target, claims: [claims], change: { after } };
}

/**
 * A version under review was approved without content, so a reviewer who did not publish it must provide the content.
 *
 * @throws ApiError 403 `own_publication` for the publisher, `not_reviewer` for others who are not reviewers.
 */
function checkReview(
  caller: Caller,
  { type, name, versions: [version] }: Entry,
  rules: readonly ReviewRule[] | undefined,
  members: Members,
): void {
  const rule = reviewRuleOf(rules, name, contentsOf(type, members));
  if (!rule) return;
  const { subject = null, issuer = null } = version?.publishedBy ?? {};
  const publisher = personKey({ identified: true, issuer, subject });
  if (publisher && personKey(caller)?.equals(publisher)) throw new ApiError('own_publication');
  if (!isReviewer(caller, rule)) throw new ApiError('not_reviewer');
}

function checkMediaType(request: Request): void {
  const { 'content-type': type, 'content-encoding': encoding = 'identity' } = request.headers;
  if ((type !== undefined && !request.is(MEDIA_TYPES)) || encoding.toLowerCase() !== 'identity')
    throw new ApiError(
      'unsupported_media_type',
      'The body must be a zip (application/zip) or tar.gz (application/gzip) file, without a Content-Encoding',
    );
}

/** Writes a request body to a new file. */
async function receive(request: Request, path: string, maxBytes: number): Promise<void> {
  const tooLarge = new ApiError('content_too_large');
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge;
  const file = await open(path, 'wx');
  try {
    let bytes = 0;
    // A refused request must stay open until its response is sent.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      bytes += (chunk as Buffer).length;
      if (bytes > maxBytes) throw tooLarge;
      await file.writeFile(chunk as Buffer);
    }
  } catch (error) {
    if (error !== tooLarge && request.destroyed) throw new ClientGone('The client closed the connection');
    throw error;
  } finally {
    await file.close();
  }
}
