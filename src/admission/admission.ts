import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { type EntityManager, QueryFailedError } from 'typeorm';
import { publisherOf } from '../audit/audit-event.js';
import type { RecordChange } from '../audit/audit-trail.js';
import type { Caller } from '../auth/caller.js';
import { type Claims, shownForm } from '../claims/claims.js';
import { transactionTime } from '../database/statements.js';
import type { EntryName, VersionName } from '../documents/entry-types.js';
import {
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
} from '../entries/admission-gate.js';
import { NO_VERSIONS } from '../entries/entry-limits.js';
import { ApiError } from '../http/errors.js';
import { candidateOf, matchingBlocks } from './block-rule.js';
import { Blocks } from './blocks.queries.js';
import {
  countHeldBy,
  heldOfName,
  insertChange,
  insertItems,
  relabelItems,
  withdrawChanges,
} from './held-items.queries.js';
import { ItemViews } from './item-views.queries.js';
import { approvalsOf, personKey, reviewRuleOf } from './review.js';
import { SyncedAdmission } from './synced-admission.js';

/** Publications and changes of one person that may be held at a time. */
export const MAX_HELD_PER_PERSON = 1_000;

/** Applies the policies: review and blocks to publications, curation and blocks to syncs (contract §11). */
@Injectable()
export class Admission extends AdmissionGate {
  constructor(
    private readonly blocks: Blocks,
    private readonly views: ItemViews,
    private readonly synced: SyncedAdmission,
  ) {
    super();
  }

  splitSynced(manager: EntityManager, content: SyncedContent): Promise<AdmittedContent> {
    return this.synced.split(manager, content);
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
