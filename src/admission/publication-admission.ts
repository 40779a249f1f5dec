import { hash, randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { type EntityManager, QueryFailedError } from 'typeorm';
import { publisherOf } from '../audit/audit-event.js';
import type { Audited, ChangeEvent } from '../audit/audit-trail.js';
import { type Caller, personKey } from '../auth/caller.js';
import { shownForm } from '../claims/claims.js';
import { transactionTime } from '../database/locks.js';
import type { EntryName, IncomingVersion, VersionName } from '../documents/entry-types.js';
import { NO_VERSIONS } from '../entry-store/entry-limits.queries.js';
import { ApiError } from '../http/errors.js';
import { contentsOf } from '../members/members.js';
import { webhookRetryInMs } from '../outbound/webhook-retry.js';
import { candidateOf, matchingBlocks } from './block-rule.js';
import { Blocks } from './blocks.queries.js';
import { countHeldBy, heldOfName, insertChange, insertItems, withdrawChanges } from './held-items.queries.js';
import type {
  AskedPublication,
  HeldAnswer,
  ProposedChange,
  Publication,
  PublishedSource,
  Reservation,
} from './publication.js';
import { reviewReason, reviewReasonOf, reviewRuleOf } from './review-rules.js';
import { type HoldReason, shownReasons } from './hold-reason.js';
import { insertQuestions } from './webhook-questions.queries.js';

/** Maximum held publications and changes per person. */
const MAX_HELD_PER_PERSON = 1_000;

/**
 * Applies review and blocks to publications and changes to entries (reference/admission). Methods run in the caller's
 * transaction, which holds the lock of the entry (`lockEntry`).
 */
@Injectable()
export class PublicationAdmission {
  constructor(private readonly blocks: Blocks) {}

  /** Returns why a publication is held for review, or until its content is stored; null if it is not. */
  reviewReason({ review }: PublishedSource['settings'], { type, name }: EntryName): HoldReason | null {
    return reviewReason(review, name, contentsOf(type, null));
  }

  /** Returns the versions of this name that are held, which count like published ones. */
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

  /**
   * Checks a publication against the blocks, which cannot change until the transaction ends.
   *
   * @returns why the version is blocked; null if it is not.
   */
  async blockReason(manager: EntityManager, version: IncomingVersion): Promise<string | null> {
    const [match] = matchingBlocks(await this.blocks.inForce(manager), candidateOf(version, null));
    return match?.block.rule.reason ?? null;
  }

  /**
   * Holds a publication that a policy holds.
   *
   * @param asked the responses of the admission webhooks; null if none was asked.
   * @returns null if the version may be stored.
   * @throws ApiError 409 `too_many_held`.
   */
  async holdPublication(
    manager: EntityManager,
    { source, version, claims, caller }: Publication,
    asked: AskedPublication | null,
  ): Promise<Audited<Required<HeldAnswer>> | null> {
    const review = this.reviewReason(source.settings, version);
    const reasons = [...(review ? [review] : []), ...(asked?.reasons ?? [])];
    if (reasons.length === 0) return null;
    await checkHeld(manager, caller);
    const shown = shownReasons(reasons);
    const event: ChangeEvent = {
      action: 'admission.hold',
      target: { type: version.type, name: version.name, version: version.version, source: source.name },
      claims: [shownForm(claims)],
      change: {
        after: { claims: shownForm(claims), sha256: version.digest.toString('hex'), reasons: shown },
      },
    };
    const id = asked?.id ?? randomUUID();
    const now = await transactionTime(manager);
    const item = { id, version, reasons, firstSeenAt: now, claims };
    await insertItems(manager, source.id, [item], { publisher: publisherOf(caller), key: personKey(caller) });
    await insertQuestions(manager, source.id, [id], asked?.failed ?? [], webhookRetryInMs(1));
    return { result: { id, status: 'held', reasons: shown }, events: [event] };
  }

  /**
   * Holds a change to an entry with a reviewed name, regardless of what its versions contain.
   *
   * @returns the ID of the item; null if the change needs no review.
   * @throws ApiError 409 `change_pending`, `too_many_held`.
   */
  async holdChange(
    manager: EntityManager,
    { source, entry, version, change, claims, caller }: ProposedChange,
  ): Promise<Audited<string> | null> {
    const rule = reviewRuleOf(source.settings.review, entry.name, contentsOf(entry.type, null));
    if (!rule) return null;
    await checkHeld(manager, caller);
    const reasons = [reviewReasonOf(rule)];
    const { type, name } = entry;
    const event: ChangeEvent = {
      action: 'admission.hold',
      target: { type, name, ...(version === null ? {} : { version }), source: source.name },
      claims: [claims, ...(change.claims ? [change.claims] : [])],
      change: { after: { change, reasons } },
    };
    const digest = hash('sha256', JSON.stringify({ type, name, version, change }), 'buffer');
    try {
      const id = await insertChange(manager, source.id, {
        type,
        name,
        version,
        reasons,
        digest,
        claims,
        change,
        by: { publisher: publisherOf(caller), key: personKey(caller) },
      });
      return { result: id, events: [event] };
    } catch (error) {
      if (isPending(error)) throw new ApiError('change_pending');
      throw error;
    }
  }

  /** Withdraws the pending changes to an entry or version that is being removed, and returns the events. */
  async dropChanges(
    manager: EntityManager,
    source: Pick<PublishedSource, 'id' | 'name'>,
    entry: EntryName,
    version: string | null,
  ): Promise<ChangeEvent[]> {
    const { type, name } = entry;
    const dropped = await withdrawChanges(manager, source.id, entry, version);
    return dropped.map(({ version: of, claims, change }) => ({
      action: 'admission.withdraw',
      target: { type, name, source: source.name, ...(of === null ? {} : { version: of }) },
      claims: [claims, ...(change.claims ? [change.claims] : [])],
      change: { after: { change } },
    }));
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
