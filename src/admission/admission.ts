import { hash, randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { type EntityManager, QueryFailedError } from 'typeorm';
import { publisherOf } from '../audit/audit-event.js';
import type { RecordChange } from '../audit/audit-trail.js';
import { type Caller, personKey } from '../auth/caller.js';
import { type Claims, shownForm } from '../claims/claims.js';
import { transactionTime } from '../database/clock.js';
import type { EntryName, IncomingVersion, VersionName } from '../documents/entry-types.js';
import {
  type AdmittedContent,
  type AskedPublication,
  AdmissionGate,
  type ConsideredBlocks,
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
import type { RequestContext } from '../http/request-context.js';
import { backOffMs, WEBHOOK_BACK_OFF } from '../limits/back-off.js';
import { AdmissionWebhooks } from './admission-webhooks.js';
import { BlockSweep } from './block-sweep.queries.js';
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
import { approvalsOf, reviewRuleOf } from './review.js';
import { SyncedAdmission } from './synced-admission.js';
import { insertQuestions } from './webhook-questions.queries.js';

/** Publications and changes of one person that may be held at a time. */
export const MAX_HELD_PER_PERSON = 1_000;

/** Applies the policies: review and blocks to publications, curation and blocks to syncs (reference/admission). */
@Injectable()
export class Admission extends AdmissionGate {
  constructor(
    private readonly blocks: Blocks,
    private readonly sweep: BlockSweep,
    private readonly views: ItemViews,
    private readonly synced: SyncedAdmission,
    private readonly webhooks: AdmissionWebhooks,
  ) {
    super();
  }

  splitSynced(manager: EntityManager, content: SyncedContent): Promise<AdmittedContent> {
    return this.synced.split(manager, content);
  }

  settleSynced(manager: EntityManager, sourceId: number, considered: ConsideredBlocks): Promise<void> {
    return this.sweep.settle(manager, [sourceId], considered);
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
    { type, name, version }: VersionName,
    caller: Caller,
  ): Promise<Reservation> {
    const rows = await heldOfName(manager, { type, name });
    const person = personKey(caller);
    const same = rows.filter((row) => row.version === version);
    return {
      claims: rows[0]?.claims ?? null,
      size:
        rows.length === 0
          ? NO_VERSIONS
          : { versions: rows.length, bytes: rows.reduce((sum, { bytes }) => sum + bytes, 0) },
      hasVersion: same.length > 0,
      isOwn: same.some(({ publisherKey }) => person !== null && publisherKey?.equals(person) === true),
    };
  }

  async blockReason(manager: EntityManager, version: IncomingVersion): Promise<string | null> {
    const [block] = matchingBlocks(await this.blocks.inForce(manager), candidateOf(version));
    return block?.rule.reason ?? null;
  }

  get asksAboutPublications(): boolean {
    return this.webhooks.on('publish').length > 0;
  }

  askAboutPublication(publication: Publication, context: RequestContext): Promise<AskedPublication> {
    return this.webhooks.askAboutPublication(publication, context);
  }

  async holdPublication(
    manager: EntityManager,
    { source, version, claims, caller }: Publication,
    asked: AskedPublication | null,
    record: RecordChange | null,
  ): Promise<HeldAnswer | null> {
    const review = this.reviewReason(source.settings, version.name);
    const reasons = [...(review ? [review] : []), ...(asked?.reasons ?? [])];
    if (reasons.length === 0) return null;
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
    const id = asked?.id ?? randomUUID();
    const now = await transactionTime(manager);
    const item = { id, version, reasons, firstSeenAt: now, claims };
    await insertItems(manager, source.id, [item], { publisher: publisherOf(caller), key: personKey(caller) });
    await insertQuestions(manager, source.id, [id], asked?.failed ?? [], backOffMs(1, WEBHOOK_BACK_OFF));
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

  async dropChanges(
    manager: EntityManager,
    source: Pick<PublishedSource, 'id' | 'name'>,
    entry: EntryName,
    version: string | null,
    record: RecordChange,
  ): Promise<void> {
    const { type, name } = entry;
    for (const dropped of await withdrawChanges(manager, source.id, entry, version))
      await record({
        action: 'admission.withdraw',
        target: {
          ...{ type, name, source: source.name },
          ...(dropped.version === null ? {} : { version: dropped.version }),
        },
        claims: [dropped.claims, ...(dropped.change.claims ? [dropped.change.claims] : [])],
        change: { after: { change: dropped.change } },
      });
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
