import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { publisherOf } from '../audit/audit-event.js';
import { AuditTrail, type ChangeEvent } from '../audit/audit-trail.js';
import { type Caller, personKey } from '../auth/caller.js';
import { AccessPolicy } from '../authz/access-policy.js';
import { lockEntry } from '../database/locks.js';
import { claimsEvents, EntriesRepository, statusEvents } from '../entry-store/entries.repository.js';
import { ApiError } from '../http/errors.js';
import { JsonText } from '../http/json-answers.js';
import type { RequestContext } from '../http/request-context.js';
import { MANAGED_KIND } from '../source-kinds/kinds.js';
import { SourceStates } from '../sources/source-states.queries.js';
import { PartitionLimit } from '../entry-store/entry-limits.queries.js';
import type { Decision } from './admission.entity.js';
import { AdmittedItems } from './admitted-items.queries.js';
import type { CompiledBlock } from './block-rule.js';
import { BlockSweep } from './block-sweep.queries.js';
import { blockReasons, Blocks } from './blocks.queries.js';
import { countHeld, relabelItems } from './held-items.queries.js';
import {
  claimSetOf,
  countDecisions,
  endItem,
  insertDecision,
  leaveToBlocks,
  lockItem,
} from './item-decisions.queries.js';
import { ItemViews } from './item-views.queries.js';
import { type SeenItem, SeenItems } from './seen-items.queries.js';
import { shownReasons } from './hold-reason.js';

/** The decisions and comments on one item. */
const MAX_DECISIONS = 200;

export interface DecisionRequest {
  readonly digest: string;
  readonly comment?: string;
}

/** Approves, rejects, comments on and withdraws held items (reference/admission). */
@Injectable()
export class Decisions {
  constructor(
    private readonly audit: AuditTrail,
    private readonly items: SeenItems,
    private readonly views: ItemViews,
    private readonly admitted: AdmittedItems,
    private readonly entries: EntriesRepository,
    private readonly limit: PartitionLimit,
    private readonly policy: AccessPolicy,
    private readonly blocks: Blocks,
    private readonly sweep: BlockSweep,
    private readonly states: SourceStates,
  ) {}

  /**
   * @param seen the item as read without a lock, so that callers who are not allowed to decide take no lock.
   * @throws ApiError 404 `item_not_found`; 403 `own_publication`, `not_reviewer`; 409 `digest_mismatch`,
   * `already_decided`, `already_approved`, `too_many_comments`.
   */
  async decide(
    caller: Caller,
    seen: SeenItem,
    decision: Decision,
    request: DecisionRequest,
    context: RequestContext,
  ): Promise<JsonText> {
    const { id } = seen;
    checkMayDecide(seen, decision);
    await this.audit.transaction({ caller, context }, async (manager) => {
      if (seen.kind === MANAGED_KIND) {
        await lockEntry(manager, seen.type, seen.name);
        if (decision === 'approve') await this.admitted.addClaimSets(manager, [id]);
      }
      const now = await lockItem(manager, seen.sourceId, id);
      const item = await this.items.load(caller, id, manager);
      checkMayDecide(item, decision);
      await checkState(manager, item, decision, request);
      if (item.isApproved) this.checkMayEndApproved(caller, item, decision);
      const events: ChangeEvent[] = [eventOf(item, decision, request)];
      const blocks = await this.blocks.inForce(manager);
      const by = { publisher: publisherOf(caller), key: personKey(caller) };
      await insertDecision(manager, id, { decision, comment: request.comment ?? null, at: now, by });
      if (decision === 'approve' && item.given + 1 >= item.required)
        events.push(...(await this.approve(manager, item, blocks, now)));
      else if (decision === 'reject') await endItem(manager, id, 'rejected', now);
      else if (decision === 'withdraw') await endItem(manager, id, 'withdrawn', now);
      if (seen.kind !== MANAGED_KIND && decision !== 'comment') {
        await this.states.recount(manager, await countHeld(manager, [seen.sourceId]));
        await this.sweep.settle(manager, [seen.sourceId], blocks);
      }
      return { result: undefined, events };
    });
    return this.views.get(caller, id);
  }

  /**
   * A version held only by blocks returns when they are lifted, so withdrawing it would amount to deleting a served
   * version.
   *
   * @throws ApiError 409 `already_decided`.
   */
  private checkMayEndApproved(caller: Caller, item: SeenItem, decision: Decision): void {
    if (decision === 'comment') return;
    const mayDelete =
      this.policy.mayAct(caller, 'manageEntries') &&
      this.policy.mayManage(caller, item.claims ?? item.sourceClaims);
    if (decision === 'withdraw' && mayDelete) return;
    throw new ApiError('already_decided', 'This version was approved or served: only a block holds it');
  }

  /** Ends every reason except blocks, and admits the item if no block holds it. */
  private async approve(
    manager: EntityManager,
    item: SeenItem,
    blocks: readonly CompiledBlock[],
    now: Date,
  ): Promise<ChangeEvent[]> {
    const reasons = item.change ? [] : (await blockReasons(manager, blocks, [item.id])).get(item.id);
    if (reasons && reasons.length > 0) {
      await leaveToBlocks(manager, item.id, reasons);
      return [];
    }
    const events: ChangeEvent[] = [{ ...eventOf(item, 'approve', {}), action: 'admission.admit' }];
    if (item.change) events.push(...(await this.makeChange(manager, item, now)));
    else await this.admitted.admit(manager, item.sourceId, [item.id]);
    await endItem(manager, item.id, 'admitted', now);
    if (item.change?.claims) await relabelItems(manager, item.sourceId, item, item.change.claims);
    if (item.kind !== MANAGED_KIND || item.change) return events;
    const claimSetId = await claimSetOf(manager, item.sourceId, item);
    if (claimSetId !== undefined) await this.limit.check(manager, item.sourceId, claimSetId);
    return events;
  }

  private async makeChange(manager: EntityManager, item: SeenItem, now: Date): Promise<ChangeEvent[]> {
    const entry = await this.entries.findByName(item, item.version ?? undefined, manager);
    if (!entry || !item.change || (item.version !== null && entry.versions.length === 0))
      throw new ApiError('already_decided', 'The entry or version is gone');
    const { claims, status, statusMessage: message = null } = item.change;
    const events = claims ? claimsEvents(entry, claims) : [];
    if (claims) await this.entries.setClaims(manager, entry, claims);
    if (!status) return events;
    const versions = item.version === null ? await this.entries.versions(entry, manager) : entry.versions;
    const after = { status, statusMessage: message };
    events.push(...statusEvents(entry, versions, after, item.version ?? undefined));
    await this.entries.setStatus(manager, entry, item.version, { status, message, now });
    return events;
  }
}

function checkMayDecide(item: SeenItem, decision: Decision): void {
  const code = refusalOf(item, decision);
  if (code) throw new ApiError(code, undefined, undefined, { refusedClaims: item.sourceClaims });
}

function refusalOf(
  { isPublisher, isDecidable }: SeenItem,
  decision: Decision,
): 'own_publication' | 'not_reviewer' | null {
  if (decision === 'comment') return null;
  if (decision === 'withdraw') return isPublisher ? null : 'not_reviewer';
  if (isPublisher) return 'own_publication';
  return isDecidable ? null : 'not_reviewer';
}

async function checkState(
  manager: EntityManager,
  item: SeenItem,
  decision: Decision,
  { digest }: DecisionRequest,
): Promise<void> {
  if (item.status !== 'held') throw new ApiError('already_decided');
  if (item.digest.toString('hex') !== digest.toLowerCase()) throw new ApiError('digest_mismatch');
  if (decision === 'approve' && item.hasApproved) throw new ApiError('already_approved');
  if (decision === 'comment' && (await countDecisions(manager, item.id)) >= MAX_DECISIONS)
    throw new ApiError('too_many_comments');
}

function eventOf(item: SeenItem, decision: Decision, { comment }: Partial<DecisionRequest>) {
  const { type, name, version, source, claims, sourceClaims, change, digest } = item;
  return {
    action: `admission.${decision}` as const,
    target: { type, name, ...(version === null ? {} : { version }), source },
    ...(item.kind === MANAGED_KIND ? {} : { role: 'manageSources' as const }),
    claims: [claims ?? sourceClaims, ...(change?.claims ? [change.claims] : [])],
    change: {
      after: {
        sha256: digest.toString('hex'),
        reasons: shownReasons(item.reasons),
        ...(change ? { change } : {}),
        ...(comment === undefined ? {} : { comment }),
      },
    },
  };
}
