import { Injectable } from '@nestjs/common';
import { type EntityManager, IsNull, Raw } from 'typeorm';
import { SYNC_ACTOR } from '../audit/audit-event.js';
import { AuditTrail } from '../audit/audit-trail.js';
import type { Claims } from '../claims/claims.js';
import type { AdmissionConfig } from '../config/config.js';
import { transactionTime } from '../database/locks.js';
import { enterAdmission, limitLockWaits } from '../database/locks.js';
import type { VersionName } from '../documents/entry-types.js';
import { noteChanged } from '../entry-store/entry-rows.queries.js';
import { EntryVersion } from '../entry-store/entry.entity.js';
import { ApiError } from '../http/errors.js';
import { contentsOf } from '../members/members.js';
import type { Members } from '../members/members.responses.js';
import { MANAGED_KIND, type SettingsOf } from '../source-kinds/kinds.js';
import { SourceStates } from '../sources/source-states.queries.js';
import type { Source } from '../sources/source.entity.js';
import { lockSource } from '../sources/sources.repository.js';
import { AdmissionItem } from './admission.entity.js';
import { matchingBlocks } from './block-rule.js';
import { BlockSweep } from './block-sweep.queries.js';
import { blockReasons, Blocks, reasonOf } from './blocks.queries.js';
import { curateContent } from './curation-rules.js';
import { membersOfVersions } from './held-content.queries.js';
import { countHeld, setReasons } from './held-items.queries.js';
import { itemEvent } from './item-event.js';
import { type ReviewRule, reviewReason, reviewRuleOf } from './review-rules.js';
import { contentStored, type HoldReason } from './hold-reason.js';

/** How long a refresh waits for a source that is being written; changes to blocks wait as long. */
const PATIENCE = '1s';

/** The owner of content: a served version, or a held version that waits for its content. */
export type ContentTarget = { readonly versionId: string } | { readonly itemId: string };

/** The facts that rules need when the content of a served version is stored. */
export type ContentRules = 'all' | 'blocks';

interface JudgedVersion extends VersionName {
  readonly id: string;
  readonly entryId: string;
  readonly sourceId: number;
  readonly source: string;
  readonly kind: string;
  readonly admission: AdmissionConfig | null;
  readonly review: readonly ReviewRule[] | null;
  readonly claims: Claims;
  readonly digest: Buffer;
  readonly document: string;
  readonly publishedAt: Date;
  readonly members: Members;
}

const WAITS_FOR_CONTENT = Raw((reasons) => `${reasons} @> '[{"policy": "content"}]'`);

/**
 * Applies blocks and rules to content in the transaction that stores or analyzes it (reference/admission), so readers
 * never see a version whose stored content matches a block.
 */
@Injectable()
export class ContentAdmission {
  constructor(
    private readonly blocks: Blocks,
    private readonly sweep: BlockSweep,
    private readonly states: SourceStates,
    private readonly audit: AuditTrail,
  ) {}

  /**
   * Locks the version or item that receives content until the transaction ends, in the lock order of its kind of
   * source. This also delays changes to blocks, so no long work may follow.
   *
   * @throws ApiError 404 `version_not_found` if it is gone or no longer held for its content.
   */
  async enter(manager: EntityManager, target: ContentTarget): Promise<void> {
    const source = await sourceOfTarget(manager, target);
    if (!source) throw new ApiError('version_not_found');
    if (source.kind === MANAGED_KIND) await enterAdmission(manager);
    await lockSource(manager, source.id).getOne();
    if (source.kind !== MANAGED_KIND) await enterAdmission(manager);
    const locked =
      'versionId' in target
        ? await manager.findOne(EntryVersion, {
            select: { id: true },
            where: { id: target.versionId },
            lock: { mode: 'for_key_share' },
          })
        : await manager.findOne(AdmissionItem, {
            select: { id: true },
            where: { id: target.itemId, status: 'held', reasons: WAITS_FOR_CONTENT, contentTree: IsNull() },
            lock: { mode: 'pessimistic_write' },
          });
    if (!locked) throw new ApiError('version_not_found');
  }

  /**
   * Makes a stored tree the content of a version, and applies blocks and rules to it.
   *
   * @throws ApiError 404 `version_not_found`, 409 `content_exists`.
   */
  async attach(
    manager: EntityManager,
    target: ContentTarget,
    tree: string,
    rules: ContentRules,
  ): Promise<void> {
    await this.enter(manager, target);
    if ('itemId' in target) {
      const { itemId } = target;
      await manager.update(AdmissionItem, { id: itemId }, { contentTree: Buffer.from(tree, 'hex') });
      await manager.delete('content_fetch', { itemId });
      return this.judgeItem(manager, itemId);
    }
    const { versionId } = target;
    const added = await manager.query<unknown[]>(
      `with added as (
         insert into version_content (version_id, tree) values ($1, decode($2, 'hex')) on conflict do nothing returning version_id
       ), settled as (
         update content_fetch set fetch_at = null, error = null where version_id in (select version_id from added)
       )
       select version_id from added`,
      [versionId, tree],
    );
    if (added.length === 0) throw new ApiError('content_exists');
    await noteContent(manager, { versionId });
    return this.judgeVersions(manager, [versionId], rules);
  }

  /**
   * Applies the blocks to all versions with this tree, after its members were computed again.
   *
   * @throws QueryFailedError if a source is being written: try again later.
   */
  async judgeTree(manager: EntityManager, tree: string): Promise<void> {
    await limitLockWaits(manager, PATIENCE);
    await enterAdmission(manager);
    await manager.query(
      `select from source where id in (
         select e.source_id from version_content c join entry_version v on v.id = c.version_id
           join entry e on e.id = v.entry_id where c.tree = decode($1, 'hex')
         union select source_id from admission_item where content_tree = decode($1, 'hex') and status = 'held'
       ) order by id for no key update`,
      [tree],
    );
    await noteContent(manager, { tree });
    const items = await manager.find(AdmissionItem, {
      select: { id: true },
      where: { contentTree: Buffer.from(tree, 'hex'), status: 'held' },
    });
    const versions = await manager.findBy<{ versionId: string; tree: string }>('version_content', { tree });
    await this.sweep.rejudge(
      manager,
      items.map(({ id }) => id),
    );
    await this.judgeVersions(
      manager,
      versions.map(({ versionId }) => versionId),
      'blocks',
    );
  }

  private async judgeVersions(
    manager: EntityManager,
    versionIds: readonly string[],
    rules: ContentRules,
  ): Promise<void> {
    const blocks = await this.blocks.inForce(manager);
    const now = await transactionTime(manager);
    // One at a time: documents and members are long.
    for (const id of versionIds) {
      const [version] = await manager.query<JudgedVersion[]>(
        `select v.id, v.entry_id as "entryId", s.id as "sourceId", s.name as source, s.kind, s.admission,
           s.settings -> 'review' as review, k.claims, e.type, e.name, v.version, v.digest, v.document,
           v.published_at as "publishedAt", t.members
         from entry_version v join entry e on e.id = v.entry_id join source s on s.id = e.source_id
         join claim_set k on k.id = e.claim_set_id
         join version_content c on c.version_id = v.id join content_tree t on t.digest = c.tree where v.id = $1`,
        [id],
      );
      if (!version) continue;
      const matches = matchingBlocks(blocks, { ...version, document: () => version.document });
      if (matches.length > 0) await this.hold(manager, version, matches.map(reasonOf), true);
      else if (rules === 'all') await this.hold(manager, version, reasonsOfRules(version, now), false);
    }
  }

  private async hold(
    manager: EntityManager,
    version: JudgedVersion,
    reasons: readonly HoldReason[],
    isBlocked: boolean,
  ): Promise<void> {
    if (reasons.length === 0) return;
    await this.sweep.hold(manager, [{ ...version, reasons }], isBlocked);
    const { source, sourceId, kind, claims } = version;
    await this.audit.writeItems(manager, SYNC_ACTOR, [
      itemEvent('admission.hold', version, { name: source, kind }, isBlocked ? null : claims, reasons),
    ]);
    await this.states.recount(manager, await countHeld(manager, [sourceId]));
  }

  /**
   * Replaces the reason `content` with the reasons that the content gives; DueItems admits the item if nothing else
   * holds it.
   */
  private async judgeItem(manager: EntityManager, itemId: string): Promise<void> {
    const item = await manager.findOne(AdmissionItem, { where: { id: itemId }, relations: { source: true } });
    const stored = await membersOfVersions(manager, { trees: [], versionIds: [], itemIds: [itemId] });
    const members = stored.get(itemId);
    if (!item || !members) return;
    const { type, name, source } = item;
    const others = item.reasons.filter(({ policy }) => policy !== 'content' && policy !== 'block');
    const isReviewed = others.some(({ policy }) => policy === 'review');
    const isManaged = source.kind === MANAGED_KIND;
    const { review: rules } = source.settings as SettingsOf<typeof MANAGED_KIND>;
    const review = isManaged && !isReviewed ? reviewReason(rules, name, contentsOf(type, members)) : null;
    const blocked = await blockReasons(manager, await this.blocks.inForce(manager), [itemId]);
    const holding = [...(review ? [review] : []), ...others, ...(blocked.get(itemId) ?? [])];
    // DueItems applies the rules of synced sources.
    const isJudged = isManaged && holding.length > 0;
    const now = await transactionTime(manager);
    await setReasons(manager, [
      { id: itemId, reasons: isJudged ? holding : [...holding, contentStored(now)] },
    ]);
  }
}

async function sourceOfTarget(manager: EntityManager, target: ContentTarget): Promise<Source | undefined> {
  if ('itemId' in target) {
    const where = { id: target.itemId };
    return (await manager.findOne(AdmissionItem, { where, relations: { source: true } }))?.source;
  }
  const where = { id: target.versionId };
  return (await manager.findOne(EntryVersion, { where, relations: { entry: { source: true } } }))?.entry
    .source;
}

/** Responses that list content are cached by revision, and searches compare the members of content. */
async function noteContent(
  manager: EntityManager,
  of: { readonly versionId: string } | { readonly tree: string },
): Promise<void> {
  const sources = await manager
    .createQueryBuilder('version_content', 'content')
    .innerJoin('content.version', 'version')
    .innerJoin('version.entry', 'entry')
    .select('entry.sourceId', 'id')
    .addSelect('array_agg(distinct entry.id)', 'entryIds')
    .where(of)
    .groupBy('entry.sourceId')
    .orderBy('entry.sourceId')
    .getRawMany<{ id: number; entryIds: string[] }>();
  for (const { id, entryIds } of sources) await noteChanged(manager, id, entryIds);
}

function reasonsOfRules(
  { kind, admission, review, type, name, version, publishedAt, members }: JudgedVersion,
  now: Date,
): readonly HoldReason[] {
  const contents = contentsOf(type, members);
  if (kind === MANAGED_KIND) {
    const reason = reviewReason(review ?? undefined, name, contents);
    return reason && reviewRuleOf(review ?? undefined, name, contents)?.contains ? [reason] : [];
  }
  const verdict = curateContent(admission, { name, version, publishedAt, contents }, now);
  return verdict.outcome === 'admit' ? [] : verdict.reasons;
}
