import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { AuditTrail } from '../audit/audit-trail.js';
import { SYNC_ACTOR } from '../audit/audit-event.js';
import type { AdmissionConfig } from '../config/config.js';
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
  type ConsideredBlocks,
  type HoldReason,
  shownReasons,
  type SyncedContent,
  type Verdict,
} from '../entries/admission-gate.js';
import type { RefusedVersion } from '../entries/entry-limits.js';
import { TimeSlice } from '../json/time-slice.js';
import { AdmissionWebhooks, waitingFor } from './admission-webhooks.js';
import { candidateOf, matchingBlocks } from './block-rule.js';
import { Blocks, reasonOf } from './blocks.queries.js';
import { curate, rejectsName, withReasons } from './curation.js';
import {
  countHeld,
  deleteItems,
  heldVersions,
  type HeldVersion,
  insertItems,
  markAdmitted,
  type NewItem,
  stateOf,
  updateItems,
} from './held-items.queries.js';
import { REWRITTEN, rewriteDocument } from './rewrite.js';
import {
  knownNames,
  rememberNames,
  rewrittenVersions,
  sourceOf,
  type SyncedSource,
} from './synced-source.queries.js';
import { insertQuestions } from './webhook-questions.queries.js';

/** Audit events of one sync or block; its own event counts all. */
export const MAX_ITEM_EVENTS = 1_000;

/** Returns the verdict on a document that a person or webhook has already rejected. */
function earlierRejection({ reasons, isRejectedByPerson }: HeldVersion): Verdict {
  const answers = reasons.filter(({ policy }) => policy === 'webhook').map(({ message }) => message);
  const message = isRejectedByPerson || answers.length === 0 ? 'rejected here' : answers.join('; ');
  return { outcome: 'reject', reasons: [{ policy: 'rule', message }] };
}

/** The items of a sync, by what happens to them. */
interface ItemChanges {
  readonly inserted: NewItem[];
  readonly updated: NewItem[];
  readonly admitted: HeldVersion[];
  readonly deleted: string[];
}

/** Applies curation and blocks to what a sync read (reference/admission). */
@Injectable()
export class SyncedAdmission {
  constructor(
    private readonly blocks: Blocks,
    private readonly audit: AuditTrail,
    private readonly webhooks: AdmissionWebhooks,
  ) {}

  async split(manager: EntityManager, content: SyncedContent): Promise<AdmittedContent> {
    const { sourceId, incoming, stored } = content;
    const source = await sourceOf(manager, sourceId);
    const blocks = await this.blocks.inForce(manager);
    const items = await heldVersions(manager, sourceId);
    const { admission } = source;
    const webhooks = this.webhooks.on('sync').map((config) => config.name);
    const mayBeRewritten = source.isFresh && stored.length > 0;
    const isFree = !admission && blocks.length === 0 && webhooks.length === 0;
    if (isFree && items.length === 0 && !mayBeRewritten) return admitAll(incoming, blocks);
    const now = await transactionTime(manager);
    const storedByKey = new Map(stored.map((version) => [versionMapKey(version), version]));
    const itemsByKey = groupedByKey(items);
    const storedNames = new Set(admission?.newNames === 'hold' ? stored.map(entryMapKey) : []);
    const arriving = distinctNames(incoming.filter((name) => !storedNames.has(entryMapKey(name))));
    const isKnown = await this.nameFilter(manager, sourceId, source, arriving);
    const changes: ItemChanges = { inserted: [], updated: [], admitted: [], deleted: [] };
    /** The ids of the items that each webhook is asked about for the first time. */
    const asked = new Map(webhooks.map((name): [string, string[]] => [name, []]));
    const admitted: IncomingVersion[] = [];
    const staying = new Set<string>();
    const rejected: RefusedVersion[] = [];
    const slice = new TimeSlice();
    for (const [index, version] of incoming.entries()) {
      // Blocks may parse documents.
      if (blocks.length > 0 || slice.isOverAt(index)) await slice.pause();
      const key = versionMapKey(version);
      const known = itemsByKey.get(key) ?? [];
      const served = storedByKey.get(key);
      const same = known.find(({ digest }) => digest.equals(version.digest));
      const held = same?.status === 'held' ? same : undefined;
      const firstSeenAt = held?.firstSeenAt ?? now;
      const isServed = served?.digest.equals(version.digest) === true;
      // Most versions of most syncs.
      if (isServed && known.length === 0 && blocks.length === 0 && !rejectsName(admission, version.name)) {
        admitted.push(rewritten(admission, version));
        continue;
      }
      // A webhook that failed is asked again.
      const hasFailed = same?.status === 'rejected' && same.reasons.some(({ failed }) => failed);
      const rejection =
        !isServed && same?.status === 'rejected' && !hasFailed ? earlierRejection(same) : null;
      const facts = {
        name: version.name,
        version: version.version,
        publishedAt: version.publishedAt ?? null,
        firstSeenAt,
        isKnownName: isKnown(version),
        isServed: served !== undefined,
      };
      // Served versions stay when the settings change; only blocks hold approved ones.
      const isDecided = isServed || held?.isApproved === true;
      const curated = judged(curate(admission, facts, now), isDecided, rejection);
      const unasked = isDecided ? [] : webhooks.filter((name) => held?.asked.includes(name) !== true);
      const answers = isDecided ? [] : [...(held ? pendingReasons(held) : []), ...unasked.map(waitingFor)];
      const verdict = withReasons(curated, [...answers, ...blockReasons(curated, blocks, version)]);
      for (const item of known)
        if (item.status === 'held' && item !== held && !(item.isApproved && verdict.outcome === 'hold'))
          changes.deleted.push(item.id);
      if (
        served &&
        !isServed &&
        (verdict.outcome === 'hold' || (rejection !== null && curated === rejection))
      )
        staying.add(key);
      if (verdict.outcome === 'admit') {
        admitted.push(rewritten(admission, version));
        if (held) changes.admitted.push(held);
      } else if (verdict.outcome === 'reject') {
        rejected.push(refusedBy(version, verdict.reasons));
        if (held) changes.deleted.push(held.id);
      } else {
        const claims = content.claimsOf?.(version) ?? null;
        const item = { id: held?.id ?? randomUUID(), version, reasons: verdict.reasons, firstSeenAt, claims };
        if (!held) changes.inserted.push(item);
        else if (hasChanged(held, item)) changes.updated.push(item);
        for (const name of unasked) asked.get(name)?.push(item.id);
        if (same && hasFailed) changes.deleted.push(same.id);
      }
    }
    const shown = items.length === 0 ? new Set() : new Set(incoming.map(versionMapKey));
    for (const item of items)
      if (item.status === 'held' && !shown.has(versionMapKey(item)) && content.isGone(item))
        changes.deleted.push(item.id);
    await this.writeItems(manager, sourceId, source, changes, now);
    for (const [name, ids] of asked) await insertQuestions(manager, sourceId, ids, [name]);
    const isStored = (name: EntryName) => storedNames.has(entryMapKey(name));
    await remember(manager, sourceId, source, { admitted, stored, incoming, isStored });
    const outdated = mayBeRewritten ? await outdatedVersions(manager, sourceId, storedByKey, admitted) : null;
    return {
      admitted,
      stays: (version) => staying.has(versionMapKey(version)),
      staying: staying.size,
      isOutdated: (version) => outdated?.has(versionMapKey(version)) ?? false,
      rejected,
      held: (await countHeld(manager, [sourceId]))[0]?.held ?? 0,
      blocks,
    };
  }

  private async nameFilter(
    manager: EntityManager,
    sourceId: number,
    { admission, isFirst }: SyncedSource,
    arriving: readonly EntryName[],
  ): Promise<(name: EntryName) => boolean> {
    if (admission?.newNames !== 'hold' || isFirst) return () => true;
    const known = await knownNames(manager, sourceId, arriving);
    const keys = new Set(known.map(entryMapKey));
    const unknown = new Set(arriving.map(entryMapKey).filter((key) => !keys.has(key)));
    return (name) => !unknown.has(entryMapKey(name));
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

function admitAll(incoming: readonly IncomingVersion[], blocks: ConsideredBlocks): AdmittedContent {
  const none = () => false;
  return { admitted: incoming, stays: none, staying: 0, isOutdated: none, rejected: [], held: 0, blocks };
}

function groupedByKey(items: readonly HeldVersion[]): Map<string, HeldVersion[]> {
  const grouped = new Map<string, HeldVersion[]>();
  for (const item of items) {
    const key = versionMapKey(item);
    grouped.set(key, [...(grouped.get(key) ?? []), item]);
  }
  return grouped;
}

/** Applies earlier decisions about this document to the verdict of the settings. */
function judged(verdict: Verdict, isDecided: boolean, rejection: Verdict | null): Verdict {
  if (verdict.outcome === 'reject') return verdict;
  if (rejection) return rejection;
  return isDecided ? ADMIT : verdict;
}

function blockReasons(
  verdict: Verdict,
  blocks: Parameters<typeof matchingBlocks>[0],
  version: IncomingVersion,
): HoldReason[] {
  if (blocks.length === 0 || verdict.outcome === 'reject') return [];
  return matchingBlocks(blocks, candidateOf(version)).map(reasonOf);
}

/** Returns why webhooks hold a version. A reason that has ended waits for nothing but being admitted. */
function pendingReasons({ reasons }: HeldVersion): HoldReason[] {
  return reasons.filter(({ policy, dueAt }) => policy === 'webhook' && dueAt === undefined);
}

// The digest still identifies the upstream's document.
function rewritten(admission: AdmissionConfig | null, version: IncomingVersion): IncomingVersion {
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
  return reasons.map(({ policy, message, dueAt, block, webhook }) => [
    policy,
    message,
    dueAt,
    block,
    webhook,
  ]);
}

function distinctNames(versions: readonly EntryName[]): EntryName[] {
  return [
    ...new Map(versions.map(({ type, name }) => [entryMapKey({ type, name }), { type, name }])).values(),
  ];
}

interface ShownNames {
  readonly admitted: readonly EntryName[];
  readonly stored: readonly EntryName[];
  readonly incoming: readonly EntryName[];
  readonly isStored: (name: EntryName) => boolean;
}

/** Records the names that `newNames` does not hold later. */
async function remember(
  manager: EntityManager,
  sourceId: number,
  { admission, isFirst, isFresh }: SyncedSource,
  { admitted, stored, incoming, isStored }: ShownNames,
): Promise<void> {
  if (!admission) return;
  if (isFirst) return rememberNames(manager, sourceId, distinctNames(incoming));
  if (admission.newNames !== 'hold') return;
  // Stored names have been remembered since the first sync with these settings.
  const added = admitted.filter((name) => !isStored(name));
  await rememberNames(manager, sourceId, distinctNames(isFresh ? [...added, ...stored] : added));
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
