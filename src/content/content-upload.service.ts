import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import type { Request } from 'express';
import type { ChangeEvent, Requester } from '../audit/audit-trail.js';
import { type Caller, identityOf } from '../auth/caller.js';
import { isReviewer, type ReviewRule, reviewRuleOf } from '../admission/reviewers.js';
import type { Client } from '../auth/client.js';
import { contentConfig } from '../config/slices.js';
import { PoolSemaphores } from '../database/connection-pool.js';
import { EntriesService } from '../entries/entries.service.js';
import { targetOf } from '../entry-store/entries.repository.js';
import type { Entry } from '../entry-store/entry.entity.js';
import { PublishRules } from '../entries/publish-request.js';
import { ApiError, ClientGone } from '../http/errors.js';
import { withinQuota } from '../http/server-limits.js';
import { Quota } from '../limits/quota.js';
import { shareManaged } from '../sources/sources.queries.js';
import { inTemporaryFolder, UnpackedFiles, unpackArchive } from './archive.js';
import { ContentStore } from './content-store.queries.js';
import { withMembers } from './content-tree.js';
import { contentProblems } from './skill-file.js';

/** Uploads at once, per replica, with a reserve (see Quota), and per caller: each may need twice `content.maxBytesPerVersion` on disk. */
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
    private readonly entries: EntriesService,
    private readonly rules: PublishRules,
    private readonly semaphores: PoolSemaphores,
    @Inject(contentConfig.KEY) private readonly limits: ConfigType<typeof contentConfig>,
  ) {}

  /**
   * Stores the archive in the body as the content of a version.
   *
   * @param entry loaded with the version.
   * @throws ApiError 400 `invalid_archive`, `claims_not_subset`, `name_reserved`; 404; 409 `content_exists`; 413
   *   `content_too_large`; 415; 429 `too_many_requests`; 503 `overloaded`; 507 `content_full`.
   */
  async upload(requester: Requester, client: Client, entry: Entry, request: Request): Promise<void> {
    const key = client.callerKey(requester.caller);
    await this.checkVersion(entry);
    checkMediaType(request);
    const store = () =>
      inTemporaryFolder((folder) => this.storeArchive(requester, client, entry, request, folder));
    await withinQuota(this.uploads, key, store, TOO_MANY);
  }

  private async checkVersion({ type, versions: [version] }: Entry): Promise<void> {
    if (!version) throw new ApiError('version_not_found');
    if (type === 'server') throw new ApiError('invalid_archive', 'Only skills and plugins have content');
    if ((await this.store.digestsOf([version.id])).size > 0) throw new ApiError('content_exists');
  }

  private async storeArchive(
    requester: Requester,
    client: Client,
    entry: Entry,
    request: Request,
    folder: string,
  ): Promise<void> {
    const { maxBytesPerVersion } = this.limits;
    const archive = join(folder, 'archive');
    await receive(request, archive, maxBytesPerVersion + MAX_OVERHEAD_BYTES);
    const unpacked = new UnpackedFiles(folder, maxBytesPerVersion);
    await unpackArchive(archive, unpacked);
    const files = unpacked.finish();
    const [named] = entry.versions;
    const [version] = await this.entries.documentsOf(entry, named?.version ?? '');
    if (!version) throw new ApiError('version_not_found');
    const problems = await contentProblems(entry.type, version.document, files);
    if (problems.length > 0)
      throw new ApiError('invalid_archive', 'The archive does not match the document', problems);
    const content = await withMembers(files);
    const key = client.callerKey(requester.caller);
    await this.semaphores.changes.run(key, client.abortSource, () =>
      this.entries.change(
        requester,
        entry,
        version.version,
        async (manager, found) => {
          const source = await shareManaged(manager);
          this.rules.checkSource(source);
          // reference/content: anyone who may publish a further version.
          this.rules.checkClaims(requester.caller, found.claims);
          this.rules.checkName(requester.caller, found, found.claims, source.settings.names);
          checkReview(requester.caller, found, source.settings.review);
          const { digest, bytes } = await this.store.put(manager, version.id, content);
          const event: ChangeEvent = {
            action: 'entry.content',
            target: targetOf(found, source.name, version.version),
            claims: [found.claims],
            change: { after: { sha256: digest, bytes, files: files.length } },
          };
          return { result: undefined, events: [event] };
        },
        // Shows no version: changes of blocks need not wait while content is written.
        false,
      ),
    );
  }
}

/**
 * A name under review was approved without content, so its content comes from a reviewer who did not publish it.
 *
 * @throws ApiError 403 `not_reviewer`, `own_publication`.
 */
function checkReview(
  caller: Caller,
  { name, versions: [version] }: Entry,
  rules: readonly ReviewRule[] | undefined,
): void {
  const rule = reviewRuleOf(rules, name);
  if (!rule) return;
  if (!isReviewer(caller, rule)) throw new ApiError('not_reviewer');
  const { subject, issuer } = version?.publishedBy ?? {};
  const reviewer = identityOf(caller);
  if (reviewer && subject === reviewer.subject && issuer === reviewer.issuer)
    throw new ApiError('own_publication');
}

function checkMediaType(request: Request): void {
  const { 'content-type': type, 'content-encoding': encoding = 'identity' } = request.headers;
  if ((type !== undefined && !request.is(MEDIA_TYPES)) || encoding.toLowerCase() !== 'identity')
    throw new ApiError(
      'unsupported_media_type',
      'The body must be a zip (application/zip) or tar.gz (application/gzip) file, without a Content-Encoding',
    );
}

/** Writes the body of a request to a new file. */
async function receive(request: Request, path: string, maxBytes: number): Promise<void> {
  const tooLarge = new ApiError('content_too_large');
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge;
  const file = await open(path, 'wx');
  try {
    let bytes = 0;
    // A refused request must stay open for its answer.
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
