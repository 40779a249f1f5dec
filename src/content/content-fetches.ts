import { createReadStream } from 'node:fs';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { InjectRepository } from '@nestjs/typeorm';
import { DataSource, In, IsNull, MoreThan, Not, Repository } from 'typeorm';
import { AdmissionWebhooks } from '../admission/admission-webhooks.js';
import { ContentAdmission } from '../admission/content-admission.queries.js';
import { DueItems } from '../admission/due-items.queries.js';
import { reviewRuleOf } from '../admission/review-rules.js';
import { CONTENT_ACTOR } from '../audit/audit-event.js';
import { AuditTrail, type ChangeEvent } from '../audit/audit-trail.js';
import { contentFetchConfig } from '../config/slices.js';
import { isDatabaseUnreachable } from '../database/database-errors.js';
import { waitForLocks } from '../database/locks.js';
import { Polling } from '../database/polling.js';
import { timeIn } from '../database/sql-expressions.js';
import { ApiError } from '../http/errors.js';
import { backOffMs } from '../limits/back-off.js';
import { ownShortage } from '../limits/own-resources.js';
import { asFetchError, FetchError } from '../outbound/fetch-error.js';
import { HttpClient } from '../outbound/http-client.js';
import { webAddressOf } from '../source-kinds/git-repository.js';
import { toStorable } from '../validation/storable-text.js';
import { inTemporaryFolder, UnpackedFiles, unpackTar } from './archive.js';
import { ContentFetch } from './content.entity.js';
import { type Fetch, type FetchedVersion, fetchedVersion, takeFetches } from './content-fetch.queries.js';
import { ContentRepositories } from './content-repositories.js';
import { describeReference, type GitReference, type OciReference, referenceOf } from './content-reference.js';
import { ContentStore } from './content-store.queries.js';
import { type IncomingContent, withMembers } from './content-tree.js';
import { OciRegistry } from './oci-registry.js';
import { contentProblems } from './skill-file.js';

const EVERY_MS = 1_000;
/** How often to look for packages left by a replica with a different host list. */
const LISTED_EVERY_MS = 60 * 60_000;
/** Maximum versions fetched at a time, per replica and per source. */
const MAX_FETCHES = 4;
const MAX_FETCHES_PER_SOURCE = 2;
/** Time limit for one version, including all retries of requests. */
const TIMEOUT_MS = 120_000;
/** Must exceed the time of a fetch, including its wait for storage. */
const LEASE_MS = 10 * 60_000;
const FETCHES_PER_READ = 100;
const MIN_RETRY_MS = 30_000;
const MAX_RETRY_MS = 60 * 60_000;
/** Pause for content that was read and refused: only a different limit or server version can make it valid. */
const MAX_REFUSED_RETRY_MS = 24 * 60 * 60_000;
/** A repository may contain more than the folder that is read. */
const MAX_REPOSITORY_BYTES = 512 * 1024 * 1024;
const MAX_ERROR = 500;

/** The document changed while its content was being fetched. */
class Outdated extends Error {}

/**
 * Fetches the content of `git` and `oci` packages (reference/content), after the version is stored. Holds no database
 * connection during a fetch.
 */
@Injectable()
export class ContentFetches extends Polling {
  private readonly fetching = new Map<string, { readonly sourceId: number; readonly end: Promise<void> }>();
  private readonly stop = new AbortController();
  private readonly http: HttpClient;
  private soughtListedAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly dataSource: DataSource,
    @InjectRepository(ContentFetch) private readonly fetches: Repository<ContentFetch>,
    private readonly store: ContentStore,
    private readonly audit: AuditTrail,
    private readonly webhooks: AdmissionWebhooks,
    private readonly repositories: ContentRepositories,
    private readonly admission: ContentAdmission,
    private readonly due: DueItems,
    @Inject(contentFetchConfig.KEY) private readonly rules: ConfigType<typeof contentFetchConfig>,
  ) {
    super(EVERY_MS, new Logger('content'), {
      failed: 'Looking for content to fetch failed; it will be retried',
    });
    this.http = new HttpClient({ maxConnections: MAX_FETCHES, proxy: rules.proxy });
  }

  override onApplicationBootstrap(): void {
    if (this.rules.fetchHosts.length > 0) this.begin();
  }

  override async onApplicationShutdown(): Promise<void> {
    await this.end();
    this.stop.abort();
    await Promise.all([...this.fetching.values()].map(({ end }) => end));
    await this.http.close();
  }

  protected async poll(): Promise<void> {
    await this.queueListed();
    const free = MAX_FETCHES - this.fetching.size;
    if (free <= 0) return;
    const { manager } = this.dataSource;
    const busy = this.busySources();
    const due = await takeFetches(manager, free, MAX_FETCHES_PER_SOURCE, busy, LEASE_MS);
    for (const fetch of due) {
      const end = this.run(fetch).finally(() => {
        this.fetching.delete(fetch.id);
        this.pollNow();
      });
      this.fetching.set(fetch.id, { sourceId: fetch.sourceId, end });
    }
  }

  /** Queues packages whose hosts were not listed when they were due. */
  private async queueListed(): Promise<void> {
    if (performance.now() - this.soughtListedAt < LISTED_EVERY_MS) return;
    for (let after: string | undefined = '0'; after !== undefined && !this.hasEnded;) {
      const unlisted = await this.fetches
        .createQueryBuilder('unlisted')
        .where({ id: MoreThan(after), fetchAt: IsNull(), packages: Not(IsNull()) })
        .andWhere('not exists (select from version_content c where c.version_id = unlisted.versionId)')
        .orderBy('unlisted.id')
        .limit(FETCHES_PER_READ)
        .getMany();
      const listed = unlisted.filter(({ packages }) => this.isListed(packages));
      await this.fetches.update(
        { id: In(listed.map(({ id }) => id)), fetchAt: IsNull() },
        { fetchAt: () => 'now()' },
      );
      after = unlisted.at(-1)?.id;
    }
    this.soughtListedAt = performance.now();
  }

  private isListed(packages: string | null): boolean {
    try {
      return referenceOf(`{"packages":${packages}}`, this.rules) !== null;
    } catch {
      // The fetch reports the failure.
      return true;
    }
  }

  private busySources(): number[] {
    const sources = [...this.fetching.values()].map(({ sourceId }) => sourceId);
    return [...new Set(sources)].filter(
      (id) => sources.filter((other) => other === id).length >= MAX_FETCHES_PER_SOURCE,
    );
  }

  // Never rejects. A fetch that fails here is taken again when its lease expires.
  private async run({ id }: Fetch): Promise<void> {
    const { manager } = this.dataSource;
    try {
      const version = await fetchedVersion(manager, id);
      if (!version) {
        await this.fetches.delete({ id, itemId: Not(IsNull()) });
        return;
      }
      try {
        await this.fetch(id, version);
      } catch (error) {
        if (this.stop.signal.aborted)
          await this.fetches.update({ id, fetchAt: Not(IsNull()) }, { fetchAt: () => 'now()' });
        else await this.fail(id, version, error);
      }
    } catch (error) {
      if (!isDatabaseUnreachable(error))
        this.logger.error({ err: error }, 'Fetching content failed; it will be retried');
    }
  }

  private async fetch(id: string, version: FetchedVersion): Promise<void> {
    const signal = AbortSignal.any([this.stop.signal, AbortSignal.timeout(TIMEOUT_MS)]);
    const reference = referenceOf(version.document, this.rules);
    const { packages, repository } = version;
    // The sync stores this content, possibly with another manifest.
    if (repository !== null && reference?.kind === 'git' && reference.url === webAddressOf(repository)) {
      await this.fetches.update({ id, packages }, { fetchAt: null });
      return;
    }
    if (reference === null) {
      await this.fetches.update({ id, packages }, { fetchAt: null, attempts: 0, error: null });
      return;
    }
    if (reference.pin === undefined && this.needsPin(version))
      throw new FetchError(
        'The package must have a commit or digest: a tag or branch may change after the document was admitted',
      );
    await inTemporaryFolder(async (folder) => {
      const unpacked = new UnpackedFiles(folder, this.rules.maxBytesPerVersion);
      const pin = async (resolve: () => Promise<string>) => {
        const known = reference.pin ?? version.pin;
        if (known !== null) return known;
        const found = await resolve();
        await this.fetches.update({ id, packages, fetchAt: Not(IsNull()) }, { pin: found });
        return found;
      };
      const from = await (reference.kind === 'git'
        ? this.readRepository(reference, pin, unpacked, signal)
        : this.readArtifact(reference, pin, folder, unpacked, signal));
      const files = unpacked.finish({ keepsTop: reference.kind === 'git' && version.type === 'plugin' });
      const problems = await contentProblems(version.type, version.document, files, !version.isManaged);
      if (problems.length > 0) throw new ApiError('invalid_archive', problems.join('; '));
      await this.keep(id, version, await withMembers(files), describeReference(reference, from));
    });
  }

  /** A tag or branch may later resolve to content that the person who admitted the document has not seen. */
  private needsPin({ name, review, isCurated }: FetchedVersion): boolean {
    return (
      isCurated || this.webhooks.all.length > 0 || reviewRuleOf(review ?? undefined, name, null) !== undefined
    );
  }

  private async readRepository(
    { url, ref, folder: path }: GitReference,
    pin: (resolve: () => Promise<string>) => Promise<string>,
    unpacked: UnpackedFiles,
    signal: AbortSignal,
  ): Promise<string> {
    const limits = { totalMs: TIMEOUT_MS, diskBytes: MAX_REPOSITORY_BYTES };
    const remote = await this.repositories.open(url, signal, limits);
    try {
      const commit = await pin(() => remote.resolve(ref));
      const tar = await remote.archive(commit, path);
      await unpackTar(createReadStream(tar), unpacked);
      return commit;
    } finally {
      await remote.close();
    }
  }

  private async readArtifact(
    reference: OciReference,
    pin: (resolve: () => Promise<string>) => Promise<string>,
    folder: string,
    unpacked: UnpackedFiles,
    signal: AbortSignal,
  ): Promise<string> {
    const registry = new OciRegistry(this.http, reference, this.rules, signal);
    const digest = await pin(() => registry.resolve());
    await registry.unpack(digest, folder, unpacked);
    return digest;
  }

  private async keep(
    id: string,
    { target, packages, source, type, name, version, claims, isManaged }: FetchedVersion,
    content: IncomingContent,
    from: object,
  ): Promise<void> {
    const bytes = await this.audit.transaction(CONTENT_ACTOR, async (manager) => {
      await waitForLocks(manager);
      const tree = await this.store.write(manager, content);
      await this.admission.enter(manager, target);
      if (!(await manager.existsBy(ContentFetch, { id, packages }))) throw new Outdated();
      await this.admission.attach(manager, target, tree.digest, 'all');
      const event: ChangeEvent = {
        action: 'entry.content',
        target: { type, name, version, source },
        ...(isManaged ? {} : { role: 'manageSources' }),
        claims: [claims],
        change: { after: { sha256: tree.digest, bytes: tree.bytes, files: content.files.length, from } },
      };
      return { result: tree.bytes, events: [event] };
    });
    if ('itemId' in target) this.due.pollNow();
    this.logger.log({ source, type, name, version, bytes }, 'Fetched content');
  }

  private async fail(id: string, version: FetchedVersion, failure: unknown): Promise<void> {
    const error = asFetchError(failure, false);
    // The content was uploaded or removed in the meantime, or the version changed, which queues it again.
    if (error instanceof Outdated || isGone(error)) return;
    const { packages, attempts, source, type, name, version: named } = version;
    const longestMs = isRefused(error) ? MAX_REFUSED_RETRY_MS : MAX_RETRY_MS;
    const delayMs = backOffMs(attempts + 1, { firstMs: MIN_RETRY_MS, longestMs });
    await this.fetches.update(
      { id, packages, fetchAt: Not(IsNull()) },
      { attempts: () => 'attempts + 1', error: shownReason(error), fetchAt: timeIn(delayMs) },
    );
    const cause =
      error instanceof FetchError || error instanceof ApiError ? { error: error.message } : { err: error };
    this.logger.warn({ source, type, name, version: named, ...cause }, 'Content could not be fetched');
  }
}

function isGone(error: unknown): boolean {
  return error instanceof ApiError && ['version_not_found', 'content_exists'].includes(error.code);
}

function isRefused(error: unknown): boolean {
  return error instanceof ApiError && ['invalid_archive', 'content_too_large'].includes(error.code);
}

/** Returns the reason to show to everyone who may see the version's status. */
function shownReason(error: unknown): string {
  if (error instanceof FetchError) return toStorable(error.shown, MAX_ERROR);
  if (error instanceof ApiError)
    return toStorable([error.message, ...(error.details ?? [])].join('; '), MAX_ERROR);
  if (error instanceof Error && error.name === 'TimeoutError')
    return `It did not finish within ${TIMEOUT_MS / 1_000} s`;
  return ownShortage(error) ?? 'Fetching failed because of an internal error: see the log for the cause';
}
