import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { AuditTrail } from '../audit/audit-trail.js';
import { SYNC_ACTOR } from '../audit/audit-event.js';
import { type Claims, equalClaims } from '../claims/claims.js';
import type { AdmissionConfig } from '../config/config.js';
import { documentDigest } from '../documents/document-check.js';
import {
  entryMapKey,
  type EntryName,
  type IncomingVersion,
  isBareType,
  versionMapKey,
  type VersionName,
} from '../documents/entry-types.js';
import type { VersionWithContent } from '../entry-store/entry-content.queries.js';
import type { RefusedVersion } from '../entry-store/entry-limits.queries.js';
import { batches } from '../limits/batches.js';
import { isPauseDue, pauseIfDue } from '../limits/time-slice.js';
import { AdmissionWebhooks } from './admission-webhooks.js';
import { Blocks } from './blocks.queries.js';
import {
  countHeld,
  deleteItems,
  heldVersions,
  type HeldVersion,
  insertItems,
  markAdmitted,
  type NewItem,
  setReasons,
  updateItems,
} from './held-items.queries.js';
import { readsContents } from './curation-rules.js';
import { itemEvent } from './item-event.js';
import { keepContent, membersOfVersions } from './held-content.queries.js';
import { REWRITTEN, rewriteDocument } from './rewrite.js';
import {
  knownNames,
  rememberNames,
  rewrittenVersions,
  sourceOf,
  type SyncedSource,
} from './synced-source.queries.js';
import {
  hasFailed,
  type SeenContent,
  type SeenVersion,
  type SyncRules,
  verdictOn,
} from './synced-verdict.js';
import { insertQuestions } from './webhook-questions.queries.js';
import { transactionTime } from '../database/locks.js';
import type { StoredVersion } from '../entry-store/entry.entity.js';
import type { AdmittedContent, ConsideredBlocks, SyncedContent } from './synced-content.js';
import { type HoldReason, isRemoved, REMOVED } from './hold-reason.js';

/** Maximum audit events of one sync or block about single items; its own event has the totals. */
export const MAX_ITEM_EVENTS = 1_000;

/** Maximum versions per source that are remembered for deny-lists after their source dropped them. */
const MAX_REMOVED = 1_000;

/** Number of versions whose members are in memory at a time. */
const VERSIONS_PER_READ = 200;

/** The items of a sync, grouped by what happens to them. */
interface ItemChanges {
  readonly inserted: NewItem[];
  readonly updated: NewItem[];
  readonly admitted: HeldVersion[];
  readonly removed: HeldVersion[];
  readonly deleted: string[];
}

/** Applies curation and blocks to the versions that a sync read (reference/admission). */
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
    const { admission } = source;
    const blocks = await this.blocks.inForce(manager);
    const webhooks = this.webhooks.on('sync').map((config) => config.name);
    const items = await heldVersions(manager, sourceId);
    const mayBeRewritten = source.isFresh && stored.length > 0;
    const isFree = !admission && blocks.length === 0 && webhooks.length === 0;
    if (isFree && items.length === 0 && !mayBeRewritten) return admitAll(incoming, blocks);

    const rules = { admission, blocks, webhooks, now: await transactionTime(manager) };
    const storedByKey = new Map(stored.map((version) => [versionMapKey(version), version]));
    const storedNames = new Set(admission?.newNames === 'hold' ? stored.map(entryMapKey) : []);
    const isStored = (name: EntryName) => storedNames.has(entryMapKey(name));
    const isKnown = await nameFilter(
      manager,
      sourceId,
      source,
      incoming.filter((name) => !isStored(name)),
    );
    const sorted = new SortedContent(rules, content.claimsOf, MAX_REMOVED - items.filter(isRemoved).length);
    const seenOf = seenWith(storedByKey, items, isKnown, content.mayStay);
    const readsMembers = readsContents(admission) || blocks.some((block) => block.readsDocuments);
    for await (const batch of batches(incoming, VERSIONS_PER_READ)) {
      const seen = batch.map(seenOf);
      const contents = await contentsOfSeen(manager, readsMembers ? seen : []);
      for (const [index, version] of seen.entries()) {
        // Blocks may need parsed documents.
        if (blocks.length > 0 || isPauseDue(index)) await pauseIfDue();
        sorted.add({ ...version, content: contents(version) });
      }
    }
    sorted.dropGone(items, incoming, content.isGone);

    await this.writeItems(manager, sourceId, source, sorted.changes, rules.now);
    await keepContent(manager, sorted.withdrawn);
    for (const [name, ids] of sorted.asked) await insertQuestions(manager, sourceId, ids, [name]);
    const { admitted, staying, rejected } = sorted;
    await remember(manager, sourceId, source, { admitted, stored, incoming, isStored });
    const outdated = mayBeRewritten ? await outdatedVersions(manager, sourceId, storedByKey, admitted) : null;
    return {
      admitted,
      stays: (version) => staying.has(versionMapKey(version)),
      staying: staying.size,
      takenBack: sorted.takenBack,
      isOutdated: (version) => outdated?.has(versionMapKey(version)) ?? false,
      contents: sorted.contents,
      rejected,
      held: (await countHeld(manager, [sourceId]))[0]?.held ?? 0,
      blocks,
    };
  }

  private async writeItems(
    manager: EntityManager,
    sourceId: number,
    source: SyncedSource,
    { inserted, updated, admitted, removed, deleted }: ItemChanges,
    now: Date,
  ): Promise<void> {
    await deleteItems(manager, deleted);
    await setReasons(
      manager,
      removed.map(({ id, reasons }) => ({ id, reasons: [...reasons, REMOVED] })),
    );
    await updateItems(manager, updated);
    await insertItems(manager, sourceId, inserted);
    await markAdmitted(
      manager,
      admitted.map(({ id }) => id),
      now,
    );
    await this.audit.writeItems(manager, SYNC_ACTOR, [
      ...inserted
        .slice(0, MAX_ITEM_EVENTS)
        .map(({ version, reasons }) => itemEvent('admission.hold', version, source, source.claims, reasons)),
      ...admitted
        .slice(0, MAX_ITEM_EVENTS)
        .map((version) => itemEvent('admission.admit', version, source, source.claims)),
    ]);
  }
}

/** The versions and items of a sync, grouped by what happens to them. */
class SortedContent {
  readonly admitted: IncomingVersion[] = [];
  /** Stored versions that are kept although the source now has a different document, by `versionMapKey`. */
  readonly staying = new Set<string>();
  readonly rejected: RefusedVersion[] = [];
  /** The names of versions that a rule rejects, whose other versions it rejects too. */
  readonly takenBack: EntryName[] = [];
  /** The content that admitted versions had while they were held. */
  readonly contents: VersionWithContent[] = [];
  /** Served versions that are now held. */
  readonly withdrawn: { readonly itemId: string; readonly versionId: string }[] = [];
  readonly changes: ItemChanges = { inserted: [], updated: [], admitted: [], removed: [], deleted: [] };
  /** The IDs of the items that each webhook is asked about for the first time. */
  readonly asked: ReadonlyMap<string, string[]>;

  constructor(
    private readonly rules: SyncRules,
    private readonly claimsOf: SyncedContent['claimsOf'],
    private readonly removable: number,
  ) {
    this.asked = new Map(rules.webhooks.map((name) => [name, []]));
  }

  add(seen: SeenVersion): void {
    const { version, stored, isServed, items, held } = seen;
    const { verdict, unasked, isRejectedAgain } = verdictOn(seen, this.rules);
    const claims = this.claimsOf?.(version) ?? null;
    // An approved document returns when the blocks are lifted, with its own claims.
    const mayReturn = (item: HeldVersion) => item.isApproved && hasClaims(item, claims);
    for (const item of items) {
      if (item.status !== 'held' || item === held) continue;
      if (item.digest.equals(version.digest)) this.changes.deleted.push(item.id);
      else if (!(mayReturn(item) && verdict.outcome === 'hold')) this.drop(item, hasClaims(item, claims));
    }
    if (stored && !isServed && (verdict.outcome === 'hold' || isRejectedAgain))
      this.staying.add(versionMapKey(version));
    if (verdict.outcome === 'admit') {
      this.admitted.push(rewritten(this.rules.admission, version));
      if (held) this.changes.admitted.push(held);
      if (held?.contentTree) this.contents.push({ ...nameOf(version), tree: held.contentTree });
    } else if (verdict.outcome === 'reject') {
      this.rejected.push(refusedBy(version, verdict.reasons));
      if (!isRejectedAgain) this.takenBack.push(version);
      if (held) this.drop(held, hasClaims(held, claims));
    } else this.hold(seen, verdict.reasons, unasked);
  }

  /** Drops the held versions that the source no longer has. */
  dropGone(
    items: readonly HeldVersion[],
    incoming: readonly IncomingVersion[],
    isGone: SyncedContent['isGone'],
  ): void {
    const shown = items.length === 0 ? new Set() : new Set(incoming.map(versionMapKey));
    for (const item of items)
      if (item.status === 'held' && !shown.has(versionMapKey(item)) && isGone(item))
        this.drop(item, this.claimsOf !== null || item.claims === null);
  }

  /** @param keepsReaders whether its readers are still those for whom a block hides it. */
  private drop(item: HeldVersion, keepsReaders: boolean): void {
    const { removed, deleted } = this.changes;
    const isBlocked = item.reasons.every(({ policy }) => policy === 'block' || policy === 'removed');
    if (!isBlocked || !keepsReaders) deleted.push(item.id);
    else if (isRemoved(item)) return;
    else if (removed.length < this.removable) removed.push(item);
    else deleted.push(item.id);
  }

  private hold(
    { version, held, rejected, stored, isServed }: SeenVersion,
    reasons: readonly HoldReason[],
    unasked: readonly string[],
  ): void {
    const item = {
      id: held?.id ?? randomUUID(),
      version,
      reasons,
      firstSeenAt: held?.firstSeenAt ?? this.rules.now,
      claims: this.claimsOf?.(version) ?? null,
      contentTree: version.contentTree === undefined ? null : Buffer.from(version.contentTree, 'hex'),
    };
    if (!held) this.changes.inserted.push(item);
    else this.changes.updated.push(item);
    if (stored && isServed) this.withdrawn.push({ itemId: item.id, versionId: stored.versionId });
    for (const name of unasked) this.asked.get(name)?.push(item.id);
    if (rejected && hasFailed(rejected)) this.changes.deleted.push(rejected.id);
  }
}

/**
 * Returns a function that finds the stored and held documents of a version. A stored document that may not stay counts as
 * missing.
 */
function seenWith(
  storedByKey: ReadonlyMap<string, StoredVersion>,
  items: readonly HeldVersion[],
  isKnown: (name: EntryName) => boolean,
  mayStay: SyncedContent['mayStay'],
): (version: IncomingVersion) => Omit<SeenVersion, 'content'> {
  const itemsByKey = groupedByKey(items);
  return (version) => {
    const key = versionMapKey(version);
    const found = storedByKey.get(key);
    const isServed = found?.digest.equals(version.digest) === true;
    const stored = found && (isServed || mayStay(found, version)) ? found : undefined;
    const known = itemsByKey.get(key) ?? [];
    const same = known.find(({ digest }) => digest.equals(version.digest));
    return {
      version,
      isKnownName: isKnown(version),
      stored,
      isServed,
      items: known,
      // What returns is judged like new.
      held: same?.status === 'held' && !isRemoved(same) ? same : undefined,
      rejected: same?.status === 'rejected' ? same : undefined,
    };
  };
}

/** Returns a filter for names that the source has shown before; it accepts all names unless new ones are held. */
async function nameFilter(
  manager: EntityManager,
  sourceId: number,
  { admission, isFirst }: SyncedSource,
  arriving: readonly EntryName[],
): Promise<(name: EntryName) => boolean> {
  if (admission?.newNames !== 'hold' || isFirst) return () => true;
  const names = distinctNames(arriving);
  const known = await knownNames(manager, sourceId, names);
  const keys = new Set(known.map(entryMapKey));
  const unknown = new Set(names.map(entryMapKey).filter((key) => !keys.has(key)));
  return (name) => !unknown.has(entryMapKey(name));
}

function admitAll(incoming: readonly IncomingVersion[], blocks: ConsideredBlocks): AdmittedContent {
  const none = () => false;
  return {
    admitted: incoming,
    stays: none,
    staying: 0,
    takenBack: [],
    isOutdated: none,
    contents: [],
    rejected: [],
    held: 0,
    blocks,
  };
}

/** @param claims null for the claims of the source. */
function hasClaims(item: HeldVersion, claims: Claims | null): boolean {
  return item.claims && claims ? equalClaims(item.claims, claims) : item.claims === claims;
}

function nameOf({ type, name, version }: VersionName): VersionName {
  return { type, name, version };
}

const NO_CONTENT: SeenContent = { own: null, kept: null };

/** Returns a function that finds the members of the content of known versions. */
async function contentsOfSeen(
  manager: EntityManager,
  seen: readonly Omit<SeenVersion, 'content'>[],
): Promise<(version: Omit<SeenVersion, 'content'>) => SeenContent> {
  const bare = seen.filter(({ version }) => isBareType(version.type));
  const found = await membersOfVersions(manager, {
    trees: bare.flatMap(({ version: { contentTree } }) => contentTree ?? []),
    versionIds: bare.flatMap(({ stored }) => stored?.versionId ?? []),
    itemIds: bare.flatMap(({ held }) => (held?.contentTree ? held.id : [])),
  });
  const membersOf = (id: string | undefined) => (id === undefined ? undefined : found.get(id));
  return ({ version, stored, held, isServed }) => {
    const kept = membersOf(stored?.versionId) ?? null;
    const own = membersOf(version.contentTree) ?? (isServed ? kept : membersOf(held?.id)) ?? null;
    return kept || own ? { own, kept } : NO_CONTENT;
  };
}

function groupedByKey(items: readonly HeldVersion[]): Map<string, HeldVersion[]> {
  const grouped = new Map<string, HeldVersion[]>();
  for (const item of items) {
    const key = versionMapKey(item);
    grouped.set(key, [...(grouped.get(key) ?? []), item]);
  }
  return grouped;
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

/** Records names, so that `newNames` does not hold them later. */
async function remember(
  manager: EntityManager,
  sourceId: number,
  { admission, isFirst, isFresh }: SyncedSource,
  { admitted, stored, incoming, isStored }: ShownNames,
): Promise<void> {
  if (!admission) return;
  if (isFirst) return rememberNames(manager, sourceId, distinctNames(incoming));
  if (admission.newNames !== 'hold') return;
  // Stored names are known since the first sync with these settings.
  const added = admitted.filter((name) => !isStored(name));
  await rememberNames(manager, sourceId, distinctNames(isFresh ? [...added, ...stored] : added));
}

/** Returns the versions, by `versionMapKey`, whose served document has to be replaced. */
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
