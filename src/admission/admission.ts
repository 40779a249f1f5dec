import { hash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { type EntityManager, QueryFailedError } from 'typeorm';
import { publisherOf, SYNC_ACTOR } from '../audit/audit-event.js';
import { AuditTrail, type RecordChange } from '../audit/audit-trail.js';
import type { Caller } from '../auth/caller.js';
import { type Claims, shownForm } from '../claims/claims.js';
import { transactionTime } from '../database/statements.js';
import { documentDigest } from '../documents/document-check.js';
import {
  entryMapKey,
  type EntryName,
  type IncomingVersion,
  versionMapKey,
  type VersionName,
} from '../documents/entry-types.js';
import {
  ADMIT,
  type AdmittedContent,
  AdmissionGate,
  type HeldAnswer,
  type HoldReason,
  type ProposedChange,
  type Publication,
  type PublishedSource,
  type Reservation,
  shownReasons,
  type SyncedContent,
  type Verdict,
} from '../entries/admission-gate.js';
import { NO_VERSIONS, type RefusedVersion } from '../entries/entry-limits.js';
import { ApiError } from '../http/errors.js';
import { matchingBlocks } from './block-rule.js';
import { Blocks, reasonOf } from './blocks.queries.js';
import { curate, type StoredAdmission } from './curation.js';
import {
  countHeld,
  countHeldBy,
  deleteItems,
  heldOfName,
  heldVersions,
  type HeldVersion,
  insertChange,
  insertItems,
  knownNames,
  markAdmitted,
  type NewItem,
  relabelItems,
  rememberNames,
  rewrittenVersions,
  sourceOf,
  stateOf,
  type SyncedSource,
  updateItems,
  withdrawChanges,
} from './held-items.queries.js';
import { ItemViews } from './item-views.queries.js';
import { approvalsOf, personKey, reviewRuleOf } from './review.js';
import { REWRITTEN, rewriteDocument } from './rewrite.js';

/** Versions judged before yielding to the event loop. */
const BATCH = 200;
/** Audit events of one sync or block; its own event counts all. */
export const MAX_ITEM_EVENTS = 1_000;
/** Publications and changes of one person that may be held at a time. */
export const MAX_HELD_PER_PERSON = 1_000;

/** The items of a sync, by what happens to them. */
interface ItemChanges {
  readonly inserted: NewItem[];
  readonly updated: (NewItem & { readonly id: string })[];
  readonly admitted: HeldVersion[];
  readonly deleted: string[];
}

/** Applies the policies: curation, blocks and review (contract §11). */
@Injectable()
export class Admission extends AdmissionGate {
  constructor(
    private readonly blocks: Blocks,
    private readonly views: ItemViews,
    private readonly audit: AuditTrail,
  ) {
    super();
  }

  async splitSynced(manager: EntityManager, content: SyncedContent): Promise<AdmittedContent> {
    const { sourceId, incoming, stored } = content;
    const source = await sourceOf(manager, sourceId);
    const blocks = await this.blocks.inForce(manager);
    const items = await heldVersions(manager, sourceId);
    const { admission } = source;
    const mayBeRewritten = source.isFresh && stored.length > 0;
    if (!admission && blocks.length === 0 && items.length === 0 && !mayBeRewritten) return admitAll(incoming);
    const now = await transactionTime(manager);
    const storedByKey = new Map(stored.map((version) => [versionMapKey(version), version]));
    const itemsByKey = groupedByKey(items);
    const isKnown = await this.nameFilter(manager, sourceId, source, incoming);
    const changes: ItemChanges = { inserted: [], updated: [], admitted: [], deleted: [] };
    const admitted: IncomingVersion[] = [];
    const staying = new Set<string>();
    const rejected: RefusedVersion[] = [];
    for (const [index, version] of incoming.entries()) {
      if (index % BATCH === 0) await nextTurn();
      const key = versionMapKey(version);
      const served = storedByKey.get(key);
      const isServed = served?.digest.equals(version.digest) === true;
      const known = itemsByKey.get(key) ?? [];
      const same = known.find(({ digest }) => digest.equals(version.digest));
      const held = same?.status === 'held' ? same : undefined;
      const firstSeenAt = held?.firstSeenAt ?? now;
      const { name, publishedAt = null } = version;
      const facts = {
        name,
        version: version.version,
        publishedAt,
        firstSeenAt,
        isKnownName: isKnown(version),
        isServed: served !== undefined,
      };
      let verdict = curate(admission, facts, now);
      // Served versions stay when the settings change; approved ones are held by blocks alone.
      if (verdict.outcome === 'hold' && (isServed || held?.isApproved)) verdict = ADMIT;
      const isRejectedHere = !isServed && same?.status === 'rejected' && verdict.outcome !== 'reject';
      if (isRejectedHere)
        verdict = { outcome: 'reject', reasons: [{ policy: 'rule', message: 'rejected here' }] };
      if (verdict.outcome !== 'reject') verdict = withBlocks(verdict, blocks, version);
      for (const item of known)
        if (item.status === 'held' && item !== held && !(item.isApproved && verdict.outcome === 'hold'))
          changes.deleted.push(item.id);
      if (verdict.outcome === 'admit') {
        admitted.push(rewritten(admission, version));
        if (held) changes.admitted.push(held);
        continue;
      }
      if (served && !isServed && (verdict.outcome === 'hold' || isRejectedHere)) staying.add(key);
      if (verdict.outcome === 'reject') {
        rejected.push(refusedBy(version, verdict.reasons));
        if (held) changes.deleted.push(held.id);
        continue;
      }
      const item = {
        version,
        reasons: verdict.reasons,
        firstSeenAt,
        claims: content.claimsOf?.(version) ?? null,
      };
      if (!held) changes.inserted.push(item);
      else if (hasChanged(held, item)) changes.updated.push({ ...item, id: held.id });
    }
    const shown = new Set(incoming.map(versionMapKey));
    for (const item of items)
      if (item.status === 'held' && !shown.has(versionMapKey(item)) && content.isGone(item))
        changes.deleted.push(item.id);
    await this.writeItems(manager, sourceId, source, changes, now);
    await remember(manager, sourceId, source, { admitted, stored, incoming });
    const outdated = mayBeRewritten ? await outdatedVersions(manager, sourceId, storedByKey, admitted) : null;
    return {
      admitted,
      stays: (version) => staying.has(versionMapKey(version)),
      staying: staying.size,
      isOutdated: (version) => outdated?.has(versionMapKey(version)) ?? false,
      rejected,
      held: await countHeld(manager, sourceId),
    };
  }

  reviewReason({ review }: PublishedSource['settings'], name: string): HoldReason | null {
    const rule = reviewRuleOf(review, name);
    if (!rule) return null;
    const approvals = approvalsOf(rule);
    const message = approvals === 1 ? 'A reviewer must approve it' : `${approvals} reviewers must approve it`;
    return { policy: 'review', message };
  }

  async reservation(
    manager: EntityManager,
    sourceId: number,
    { type, name, version }: VersionName,
  ): Promise<Reservation> {
    const rows = await heldOfName(manager, sourceId, { type, name });
    return {
      claims: rows[0]?.claims ?? null,
      size:
        rows.length === 0
          ? NO_VERSIONS
          : { versions: rows.length, bytes: rows.reduce((sum, { bytes }) => sum + bytes, 0) },
      hasVersion: rows.some((row) => row.version === version),
    };
  }

  async holdPublication(
    manager: EntityManager,
    { source, version, claims, caller }: Publication,
    record: RecordChange | null,
  ): Promise<HeldAnswer | null> {
    const [blocked] = matchingBlocks(await this.blocks.inForce(manager), candidateOf(version));
    if (blocked) throw new ApiError('blocked', `This version is blocked: ${blocked.rule.reason}`);
    const review = this.reviewReason(source.settings, version.name);
    if (!review) return null;
    const reasons = [review];
    const answer: HeldAnswer = { status: 'held', reasons: shownReasons(reasons) };
    await checkHeld(manager, caller);
    if (!record) return answer;
    await record({
      action: 'admission.hold',
      target: { type: version.type, name: version.name, version: version.version, source: source.name },
      claims: [shownForm(claims)],
      change: {
        after: { claims: shownForm(claims), sha256: version.digest.toString('hex'), reasons: answer.reasons },
      },
    });
    const item = { version, reasons, firstSeenAt: await transactionTime(manager), claims };
    const [id] = await insertItems(manager, source.id, [item], {
      publisher: publisherOf(caller),
      key: personKey(caller),
    });
    if (id === undefined) throw new Error('A held version was not stored');
    return { id, ...answer };
  }

  async holdChange(
    manager: EntityManager,
    { source, entry, version, change, claims, caller }: ProposedChange,
    record: RecordChange,
  ): Promise<string | null> {
    const review = this.reviewReason(source.settings, entry.name);
    if (!review) return null;
    await checkHeld(manager, caller);
    const reasons = [review];
    const { type, name } = entry;
    await record({
      action: 'admission.hold',
      target: { type, name, ...(version === null ? {} : { version }), source: source.name },
      claims: [claims, ...(change.claims ? [change.claims] : [])],
      change: { after: { change, reasons } },
    });
    const digest = hash('sha256', JSON.stringify({ type, name, version, change }), 'buffer');
    try {
      return await insertChange(manager, source.id, {
        type,
        name,
        version,
        reasons,
        digest,
        claims,
        change,
        by: { publisher: publisherOf(caller), key: personKey(caller) },
      });
    } catch (error) {
      if (isPending(error)) throw new ApiError('change_pending');
      throw error;
    }
  }

  relabel(manager: EntityManager, sourceId: number, entry: EntryName, claims: Claims): Promise<void> {
    return relabelItems(manager, sourceId, entry, claims);
  }

  dropChanges(
    manager: EntityManager,
    sourceId: number,
    entry: EntryName,
    version: string | null,
  ): Promise<void> {
    return withdrawChanges(manager, sourceId, entry, version);
  }

  describe(caller: Caller, id: string, manager?: EntityManager): Promise<string> {
    return this.views.describe(caller, id, manager);
  }

  private async nameFilter(
    manager: EntityManager,
    sourceId: number,
    { admission, isFirst }: SyncedSource,
    incoming: readonly IncomingVersion[],
  ): Promise<(name: EntryName) => boolean> {
    if (admission?.newNames !== 'hold' || isFirst) return () => true;
    const known = await knownNames(manager, sourceId, distinctNames(incoming));
    const keys = new Set(known.map(entryMapKey));
    return (name) => keys.has(entryMapKey(name));
  }

  private async writeItems(
    manager: EntityManager,
    sourceId: number,
    { name, claims }: SyncedSource,
    { inserted, updated, admitted, deleted }: ItemChanges,
    now: Date,
  ): Promise<void> {
    await deleteItems(manager, deleted);
    await updateItems(manager, updated);
    await insertItems(manager, sourceId, inserted);
    await markAdmitted(
      manager,
      admitted.map(({ id }) => id),
      now,
    );
    const event = (
      action: 'admission.hold' | 'admission.admit',
      one: VersionName,
      sha256: Buffer,
      after: object,
    ) => ({
      action,
      target: { type: one.type, name: one.name, version: one.version, source: name },
      role: 'manageSources' as const,
      claims: [claims],
      change: { after: { sha256: sha256.toString('hex'), ...after } },
    });
    await this.audit.writeItems(manager, SYNC_ACTOR, [
      ...inserted
        .slice(0, MAX_ITEM_EVENTS)
        .map(({ version, reasons }) =>
          event('admission.hold', version, version.digest, { reasons: shownReasons(reasons) }),
        ),
      ...admitted
        .slice(0, MAX_ITEM_EVENTS)
        .map((version) => event('admission.admit', version, version.digest, {})),
    ]);
  }
}

function admitAll(incoming: readonly IncomingVersion[]): AdmittedContent {
  const none = () => false;
  return { admitted: incoming, stays: none, staying: 0, isOutdated: none, rejected: [], held: 0 };
}

function groupedByKey(items: readonly HeldVersion[]): Map<string, HeldVersion[]> {
  const grouped = new Map<string, HeldVersion[]>();
  for (const item of items) {
    const key = versionMapKey(item);
    grouped.set(key, [...(grouped.get(key) ?? []), item]);
  }
  return grouped;
}

function candidateOf(version: IncomingVersion) {
  const { type, name, digest, document } = version;
  return { type, name, version: version.version, digest, document: () => document };
}

function withBlocks(
  verdict: Verdict,
  blocks: Parameters<typeof matchingBlocks>[0],
  version: IncomingVersion,
): Verdict {
  const matching = blocks.length === 0 ? [] : matchingBlocks(blocks, candidateOf(version));
  if (matching.length === 0) return verdict;
  const reasons = verdict.outcome === 'admit' ? [] : verdict.reasons;
  return { outcome: 'hold', reasons: [...reasons, ...matching.map(reasonOf)] };
}

// The digest still identifies the upstream's document.
function rewritten(admission: StoredAdmission | null, version: IncomingVersion): IncomingVersion {
  const document = rewriteDocument(admission?.rewrite ?? [], version.document);
  return document ? { ...version, document } : version;
}

function refusedBy({ type, name, version }: VersionName, reasons: readonly HoldReason[]): RefusedVersion {
  const [reason] = reasons;
  return { type, name, version, reason: `admission_rejected: ${reason?.message ?? 'rejected'}` };
}

function hasChanged({ reasons, state }: HeldVersion, item: NewItem): boolean {
  return (
    JSON.stringify(shownAndBlocks(reasons)) !== JSON.stringify(shownAndBlocks(item.reasons)) ||
    state !== stateOf(item.version, item.firstSeenAt)
  );
}

// jsonb does not keep the order of members.
function shownAndBlocks(reasons: readonly HoldReason[]): unknown[] {
  return reasons.map(({ policy, message, dueAt, block }) => [policy, message, dueAt, block]);
}

function distinctNames(versions: readonly EntryName[]): EntryName[] {
  return [
    ...new Map(versions.map(({ type, name }) => [entryMapKey({ type, name }), { type, name }])).values(),
  ];
}

/** Records the names that `newNames` does not hold later. */
async function remember(
  manager: EntityManager,
  sourceId: number,
  { admission, isFirst }: SyncedSource,
  {
    admitted,
    stored,
    incoming,
  }: {
    readonly admitted: readonly EntryName[];
    readonly stored: readonly EntryName[];
    readonly incoming: readonly EntryName[];
  },
): Promise<void> {
  if (!admission) return;
  if (isFirst) await rememberNames(manager, sourceId, distinctNames(incoming));
  else if (admission.newNames === 'hold')
    await rememberNames(manager, sourceId, distinctNames([...admitted, ...stored]));
}

/** Returns the versions, by `versionMapKey`, whose served document is not the one to serve now. */
async function outdatedVersions(
  manager: EntityManager,
  sourceId: number,
  storedByKey: ReadonlyMap<string, unknown>,
  admitted: readonly IncomingVersion[],
): Promise<ReadonlySet<string>> {
  const served = new Map(
    (await rewrittenVersions(manager, sourceId, REWRITTEN)).map((one) => [versionMapKey(one), one.served]),
  );
  const outdated = new Set<string>();
  for (const version of admitted) {
    const key = versionMapKey(version);
    if (!storedByKey.has(key)) continue;
    const before = served.get(key);
    const isRewritten = version.document.includes(REWRITTEN);
    if (before ? !before.equals(documentDigest(version.document)) : isRewritten) outdated.add(key);
  }
  return outdated;
}

async function checkHeld(manager: EntityManager, caller: Caller): Promise<void> {
  if ((await countHeldBy(manager, personKey(caller))) >= MAX_HELD_PER_PERSON)
    throw new ApiError('too_many_held');
}

function isPending(error: unknown): boolean {
  if (!(error instanceof QueryFailedError)) return false;
  const { code, constraint } = error.driverError as { code?: string; constraint?: string };
  return code === '23505' && constraint === 'admission_item_change';
}
