import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { Counter } from 'prom-client';
import type { EntityManager } from 'typeorm';
import { AdmissionWebhooks } from '../admission/admission-webhooks.js';
import { relabelItems } from '../admission/held-items.queries.js';
import { ItemViews } from '../admission/item-views.queries.js';
import { PublicationAdmission } from '../admission/publication-admission.js';
import {
  type AskedPublication,
  type HeldAnswer,
  type Publication,
  refusedPublication,
} from '../admission/publication.js';
import { publisherOf } from '../audit/audit-event.js';
import { type Audited, AuditTrail, type ChangeEvent, type Requester } from '../audit/audit-trail.js';
import type { Caller } from '../auth/caller.js';
import { AccessPolicy, type Recorder } from '../authz/access-policy.js';
import { type Claims, shownForm } from '../claims/claims.js';
import type { LimitsConfig } from '../config/config.js';
import { contentConfig } from '../config/slices.js';
import { lockEntry } from '../database/locks.js';
import { checkDocument, formatProblem, withinPublisherLimit } from '../documents/document-check.js';
import {
  ENTRY_TYPE_NAMES,
  type EntryName,
  type IncomingVersion,
  isEntryType,
} from '../documents/entry-types.js';
import { type EntryType, type Status, statusesOf } from '../documents/statuses.js';
import {
  changingVersions,
  claimsEvents,
  EntriesRepository,
  publicationEvent,
  statusEvents,
  statusOf,
  targetOf,
} from '../entry-store/entries.repository.js';
import type { ContentAnswer } from '../entry-store/entry-content.queries.js';
import { NO_VERSIONS, sumOf } from '../entry-store/entry-limits.queries.js';
import { findPublished } from '../entry-store/entry-rows.queries.js';
import type { Entry, EntryVersion, VersionSummary } from '../entry-store/entry.entity.js';
import { ApiError } from '../http/errors.js';
import { JsonText } from '../http/json-answers.js';
import { refuseLostDigits } from '../http/json-body.js';
import { checkPreconditions, contentTag, type Preconditions } from '../http/preconditions.js';
import type { RequestContext } from '../http/request-context.js';
import { invalidBody } from '../http/validation.pipe.js';
import { shareManaged } from '../sources/sources.repository.js';
import { Metrics } from '../telemetry/metrics.js';
import { isStorable } from '../validation/storable-text.js';
import { below, issue } from '../validation/value-checks.js';
import { type PublishBody, type StatusBody, typesIn } from './entries.dto.js';
import {
  ADMIN_ANSWERS,
  describeEntry,
  describeVersion,
  type PublicationAnswers,
} from './entries.responses.js';
import { PublishRules } from './publish-rules.js';

/** An entry as it appears in a path; the type has not been checked. */
export interface EntryPath {
  readonly type: string;
  readonly name: string;
}

/** A version to publish that passed all checks that need no database. */
interface PublishRequest {
  readonly version: IncomingVersion;
  /** `{}` if the request has no claims. */
  readonly claims: Claims;
}

/** The outcome of a publication or change: made, or held for review (reference/admission). */
export interface MadeOrHeld<T> {
  readonly isHeld: boolean;
  readonly answer: T;
}

/** The number of versions that now have the status, or the ID of the item if the change waits for review. */
interface ChangedStatus {
  readonly entry: Entry;
  readonly count: number;
  readonly held: string | null;
}

/** A publication that was stored or held, or that a rehearsal would store or hold. */
type Published = { readonly publication: Publication; readonly claims: Claims } & (
  | { readonly version: EntryVersion; readonly held?: undefined }
  | { readonly version?: undefined; readonly held: Required<HeldAnswer> }
);

/** Publishes and manages entries (reference/publishing). */
@Injectable()
export class EntriesService {
  private readonly publications: Counter<'entry_type'>;

  constructor(
    private readonly audit: AuditTrail,
    private readonly entries: EntriesRepository,
    private readonly policy: AccessPolicy,
    private readonly rules: PublishRules,
    private readonly admission: PublicationAdmission,
    private readonly webhooks: AdmissionWebhooks,
    private readonly items: ItemViews,
    @Inject(contentConfig.KEY) private readonly content: ConfigType<typeof contentConfig>,
    { register }: Metrics,
  ) {
    this.publications = new Counter({
      name: 'registry_publications_total',
      help: 'Versions published through this replica',
      labelNames: ['entry_type'],
      registers: [register],
    });
    // Prometheus sees increases only in series that it has scraped before.
    for (const entry_type of ENTRY_TYPE_NAMES) this.publications.inc({ entry_type }, 0);
  }

  /**
   * Publishes a version (reference/publishing). Claims are required and must be a subset of the caller's. Later versions have the
   * same claims as the first, and only callers who satisfy these claims may publish them.
   *
   * @param dryRun returns the same response without writing.
   */
  publish(
    caller: Caller,
    body: PublishBody,
    raw: Buffer | undefined,
    dryRun: boolean,
    context: RequestContext,
  ): Promise<MadeOrHeld<string>> {
    const request = readPublishRequest(body, raw, this.rules.limits);
    return this.publishVersion(caller, request, dryRun, ADMIN_ANSWERS, context);
  }

  /** Works like `publish`, but takes a parsed request. */
  async publishVersion(
    caller: Caller,
    request: PublishRequest,
    dryRun: boolean,
    answers: PublicationAnswers,
    context: RequestContext,
  ): Promise<MadeOrHeld<string>> {
    const asked = await this.askWebhooks(caller, request, context);
    const work = (manager: EntityManager) => this.publishIn(manager, caller, request, asked);
    const { version, held, claims } = await (dryRun
      ? this.audit.rehearse(work)
      : this.audit.transaction({ caller, context }, work));
    if (held) {
      const { id, ...rehearsed } = held;
      const answer = answers.held(request.version, claims, dryRun ? rehearsed : { id, ...rehearsed });
      return { isHeld: true, answer };
    }
    if (!dryRun) this.publications.inc({ entry_type: request.version.type });
    return { isHeld: false, answer: answers.stored(request.version, claims, version) };
  }

  /**
   * Rehearses the publication, then asks the admission webhooks about it; null if there are none.
   *
   * @throws the errors of `publish` and `AdmissionWebhooks.askAboutPublication`.
   */
  private async askWebhooks(
    caller: Caller,
    request: PublishRequest,
    context: RequestContext,
  ): Promise<AskedPublication | null> {
    if (!this.webhooks.asksAboutPublications) return null;
    const { publication } = await this.audit.rehearse((manager) =>
      this.publishIn(manager, caller, request, null),
    );
    const ask = () => this.webhooks.askAboutPublication(publication, context);
    return context.permit?.doWithout(ask) ?? ask();
  }

  /** Publishes or holds a version in a transaction. */
  private async publishIn(
    manager: EntityManager,
    caller: Caller,
    { version: incoming, claims: given }: PublishRequest,
    asked: AskedPublication | null,
  ): Promise<Audited<Published>> {
    // Super-admins may omit the claims of later versions, which then inherit the entry's claims: see checkClaims.
    this.rules.checkPublisher(caller, given);
    const source = await shareManaged(manager);
    this.rules.checkSource(source);
    // Check this before reading anything about the name: the response must not reveal whether a reserved name exists.
    this.rules.checkName(caller, incoming, given, source.settings.names);
    const now = await lockEntry(manager, incoming.type, incoming.name);
    const entry = await findPublished(manager, incoming);
    // Held versions reserve their name, like published ones.
    const reserved = await this.admission.reservation(manager, incoming, caller);
    const earlier = entry?.claims ?? reserved.claims;
    if (earlier) this.rules.checkLater(caller, { claims: earlier }, given);
    this.rules.checkNew(incoming, entry, reserved);
    const size = sumOf(entry?.size ?? NO_VERSIONS, reserved.size);
    this.rules.checkRoom(incoming, size, incoming.document.length);
    // A super-admin without claims inherits the claims of held versions.
    const claims = entry?.shownClaims ?? shownForm(reserved.claims ?? given);
    const publication = { source, version: incoming, claims, caller };
    const blocked = await this.admission.blockReason(manager, incoming);
    if (blocked !== null)
      throw refusedPublication('blocked', publication, `This version is blocked: ${blocked}`);
    const held = await this.admission.holdPublication(manager, publication, asked);
    if (held) return { result: { publication, claims, held: held.result }, events: held.events };
    const added = { incoming, publishedBy: publisherOf(caller), now };
    const version = await this.entries.add(manager, entry ?? { sourceId: source.id, claims }, added);
    const events = [publicationEvent(source.name, incoming, claims)];
    return { result: { publication, claims, version }, events };
  }

  /**
   * Loads the entry that a request is about.
   *
   * @param version must exist if given; `versions` then contains only this version.
   * @throws ApiError 404 if the entry does not exist or the caller cannot manage it.
   */
  async load(caller: Caller, path: EntryPath, version?: string, record?: Recorder): Promise<Entry> {
    const found = await this.entries.findByName(entryNameOf(path), version);
    return this.checkFound(caller, found, version, record);
  }

  async get(entry: Entry): Promise<JsonText> {
    const versions = await this.entries.versions(entry);
    // The last version was removed after the entry was loaded.
    if (versions.length === 0) throw new ApiError('entry_not_found');
    return new JsonText(describeEntry(entry, versions, await this.contentStates(entry, versions)));
  }

  /** @param entry loaded with the requested version. */
  async getVersion(entry: Entry): Promise<JsonText> {
    const version = await this.withDocument(entry);
    const states = await this.contentStates(entry, [version]);
    const content = { content: states.get(version.id), ...(await this.entries.membersOf(version)) };
    return new JsonText(describeVersion(entry, entry.shownClaims, version, version.publishedBy, content));
  }

  private contentStates(
    entry: Entry,
    versions: readonly VersionSummary[],
  ): Promise<ReadonlyMap<string, ContentAnswer>> {
    return this.entries.contentStates(entry, versions, this.content.fetchHosts.length > 0);
  }

  getClaims({ shownClaims: claims }: Entry): JsonText {
    return new JsonText(JSON.stringify({ claims }), contentTag(claims));
  }

  /**
   * Replaces the claims (reference/publishing). The caller must satisfy the current claims (otherwise 404) and the new ones.
   *
   * @returns the item if the change waits for review, null if it was made.
   */
  async setClaims(
    caller: Caller,
    path: EntryPath,
    claims: Claims,
    preconditions: Preconditions,
    context: RequestContext,
  ): Promise<JsonText | null> {
    const held = await this.change<string | null>(
      { caller, context },
      path,
      undefined,
      async (manager, entry) => {
        this.policy.checkRelabel(caller, claims);
        const source = await shareManaged(manager);
        this.rules.checkName(caller, entry, claims, source?.settings.names);
        checkPreconditions(preconditions, contentTag(entry.shownClaims));
        const [before, after] = [entry.shownClaims, shownForm(claims)];
        if (source && !isDeepStrictEqual(before, after)) {
          const change = { source, entry, version: null, change: { claims: after }, claims: before, caller };
          const item = await this.admission.holdChange(manager, change);
          if (item) return item;
        }
        const events = claimsEvents(entry, after);
        await this.entries.setClaims(manager, entry, claims);
        await relabelItems(manager, entry.sourceId, entry, after);
        return { result: null, events };
      },
    );
    return held === null ? null : new JsonText(await this.items.describe(caller, held));
  }

  async removeVersion(
    caller: Caller,
    path: EntryPath,
    version: string,
    context: RequestContext,
  ): Promise<void> {
    await this.change({ caller, context }, path, version, async (manager, entry) => {
      const removed = onlyVersion(entry);
      const event: ChangeEvent = {
        action: 'entry.delete',
        target: targetOf(entry, entry.source.name, removed.version),
        claims: [entry.claims],
        change: { before: { claims: entry.shownClaims, ...statusOf(removed) } },
      };
      const isLast = (await this.entries.versions(entry, manager)).length === 1;
      const source = { id: entry.sourceId, name: entry.source.name };
      const changed = isLast ? null : removed.version;
      const dropped = await this.admission.dropChanges(manager, source, entry, changed);
      await this.entries.removeVersion(manager, entry, removed);
      return { result: undefined, events: [event, ...dropped] };
    });
  }

  /**
   * Sets the status of one version, or of all versions if none is given. Returns the item if the change waits for
   * review.
   */
  async setStatus(
    caller: Caller,
    path: EntryPath,
    body: StatusBody,
    version: string | undefined,
    context: RequestContext,
  ): Promise<MadeOrHeld<JsonText>> {
    const { entry, held } = await this.changeStatus(caller, path, body, version, context);
    if (held !== null) return { isHeld: true, answer: new JsonText(await this.items.describe(caller, held)) };
    return {
      isHeld: false,
      answer: await (version === undefined ? this.get(entry) : this.getVersion(entry)),
    };
  }

  /** Works like `setStatus`, but returns the entry as `load` does. */
  async changeStatus(
    caller: Caller,
    path: EntryPath,
    body: StatusBody,
    version: string | undefined,
    context: RequestContext,
  ): Promise<ChangedStatus> {
    const { status, message } = readStatusRequest(entryNameOf(path).type, body);
    return this.change<ChangedStatus>({ caller, context }, path, version, async (manager, entry, now) => {
      const versions =
        version === undefined ? await this.entries.versions(entry, manager) : [onlyVersion(entry)];
      const after = { status, statusMessage: message };
      const isChanged = changingVersions(versions, after).length > 0;
      const source = await shareManaged(manager);
      if (source && isChanged && status !== WITHDRAWN) {
        const claims = entry.shownClaims;
        const change = { source, entry, version: version ?? null, change: after, claims, caller };
        const held = await this.admission.holdChange(manager, change);
        if (held) return { result: { entry, count: 0, held: held.result }, events: held.events };
      }
      const events = statusEvents(entry, versions, after, version);
      await this.entries.setStatus(manager, entry, version ?? null, { status, message, now });
      return { result: { entry, count: versions.length, held: null }, events };
    });
  }

  /** Returns the `_meta` content that describes a held change. */
  async heldAnswer(caller: Caller, id: string): Promise<HeldAnswer> {
    const { status, reasons } = JSON.parse(await this.items.describe(caller, id)) as HeldAnswer;
    return { id, status, reasons };
  }

  /** Returns the version that an entry was loaded with, or the newest versions within 1 MiB, with their documents. */
  async documentsOf(entry: Entry, version: string | undefined): Promise<readonly EntryVersion[]> {
    return version === undefined ? this.entries.newestWithDocuments(entry) : [await this.withDocument(entry)];
  }

  private async withDocument(entry: Entry): Promise<EntryVersion> {
    const version = await this.entries.withDocument(onlyVersion(entry));
    // The version was removed after the entry was loaded.
    if (!version) throw new ApiError('version_not_found');
    return version;
  }

  /**
   * Runs a change to an entry in a transaction, once the entry is locked and loaded like `load`.
   *
   * @param prepare long work, done before any lock.
   */
  async change<T>(
    requester: Requester,
    path: EntryPath,
    version: string | undefined,
    work: (manager: EntityManager, entry: Entry, now: Date) => Promise<Audited<T>>,
    prepare?: (manager: EntityManager) => Promise<void>,
  ): Promise<T> {
    const entryName = entryNameOf(path);
    return this.audit.transaction(requester, async (manager) => {
      await prepare?.(manager);
      const now = await lockEntry(manager, entryName.type, entryName.name);
      const found = await this.entries.findByName(entryName, version, manager);
      return work(manager, this.checkFound(requester.caller, found, version), now);
    });
  }

  private checkFound(
    caller: Caller,
    entry: Entry | null,
    version: string | undefined,
    record?: Recorder,
  ): Entry {
    if (!entry || !this.policy.mayManage(caller, entry.claims, record))
      throw new ApiError('entry_not_found', undefined, undefined, { refusedClaims: entry?.claims });
    if (version !== undefined && entry.versions.length === 0) throw new ApiError('version_not_found');
    return entry;
  }
}

/**
 * Reads the body of a publish request: `{ server | skill, claims? }` (reference/publishing).
 *
 * @param raw the unparsed body, to detect numbers that lost digits in parsing.
 * @param limits.publisherMeta the maximum size of the publisher's block.
 * @throws ApiError 400 `invalid_body`, or `invalid_document` with one sentence per problem in the details.
 */
function readPublishRequest(
  body: PublishBody,
  raw: Buffer | undefined,
  { publisherMeta }: Pick<LimitsConfig, 'publisherMeta'>,
): PublishRequest {
  refuseLostDigits(raw);
  const [type] = typesIn(body);
  if (type === undefined) throw new Error('A body without a document passed validation');
  const { claims = {} } = body;
  const { problems, version } = withinPublisherLimit(checkDocument(type, body[type]), publisherMeta);
  if (version) return { version, claims };
  const details = problems.map(
    (problem) =>
      `${type}${problem.path === '' || problem.path.startsWith('[') ? ' ' : '.'}${formatProblem(problem)}`,
  );
  throw new ApiError('invalid_document', `The ${type} is not valid: ${details.join('; ')}`, details);
}

/**
 * Reads `{ status, statusMessage? }`.
 *
 * @throws ApiError 400 `invalid_body`.
 */
function readStatusRequest(
  type: EntryType,
  { status, statusMessage }: StatusBody,
): { readonly status: Status; readonly message: string | null } {
  const statuses = statusesOf(type);
  const known = statuses.find((one) => one === status);
  if (!known) throw invalidBody(below(['status'], issue(`must be one of ${statuses.join(', ')}`)));
  return { status: known, message: statusMessage ?? null };
}

function entryNameOf({ type, name }: EntryPath): EntryName {
  if (!isEntryType(type) || !isStorable(name)) throw new ApiError('entry_not_found');
  return { type, name };
}

function onlyVersion({ versions: [version] }: Entry): VersionSummary {
  if (!version) throw new Error('An entry was loaded without the requested version');
  return version;
}

/** Changes to this status need no review, because nobody gains anything by them. */
const WITHDRAWN = 'deleted';
