import { Injectable, Logger } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { DataSource, type EntityManager, Raw, Repository } from 'typeorm';
import { SYNC_ACTOR } from '../audit/audit-event.js';
import { AuditTrail } from '../audit/audit-trail.js';
import type { Claims } from '../claims/claims.js';
import { lockEntry, transactionTime, tryLockBulkWrite, waitForLocks } from '../database/locks.js';
import { Polling } from '../database/polling.js';
import { timeIn } from '../database/sql-expressions.js';
import { entryMapKey, type EntryName, type VersionName } from '../documents/entry-types.js';
import { ApiError } from '../http/errors.js';
import { contentsOf } from '../members/members.js';
import type { Members } from '../members/members.responses.js';
import { MANAGED_KIND } from '../source-kinds/kinds.js';
import { AdmissionItem } from './admission.entity.js';
import { AdmittedItems } from './admitted-items.queries.js';
import { Source } from '../sources/source.entity.js';
import { SourceStates } from '../sources/source-states.queries.js';
import { lockSource } from '../sources/sources.repository.js';
import { PartitionLimit } from '../entry-store/entry-limits.queries.js';
import { AdmissionWebhooks, waitingFor } from './admission-webhooks.js';
import { BlockSweep } from './block-sweep.queries.js';
import { blockReasons, Blocks } from './blocks.queries.js';
import { curate, readsContents, withReasons } from './curation-rules.js';
import { queueHeldContent } from './held-content.queries.js';
import { ASKED, countHeld, setReasons } from './held-items.queries.js';
import { claimSetOf } from './item-decisions.queries.js';
import { itemEvent } from './item-event.js';
import { knownNames } from './synced-source.queries.js';
import { MAX_ITEM_EVENTS } from './synced-admission.js';
import { CONTENT_MISSING } from './hold-reason.js';
import { insertQuestions } from './webhook-questions.queries.js';

/** Due versions are admitted within 10 s (reference/admission). */
const EVERY_MS = 3_000;
/** Versions admitted per transaction. */
const MAX_ITEMS = 10_000;

interface DueItem extends VersionName {
  readonly id: string;
  readonly digest: Buffer;
  readonly firstSeenAt: Date;
  readonly publishedAt: Date | null;
  readonly isServed: boolean;
  readonly claims: Claims | null;
  readonly members: Members | null;
  /** The admission webhooks that have been asked about the document. */
  readonly asked: readonly string[];
}

const IS_DUE = { status: 'held' as const, dueAt: Raw((at) => `${at} <= now()`) };

/** Admits held versions when they are due; runs on one replica at a time. */
@Injectable()
export class DueItems extends Polling {
  constructor(
    private readonly dataSource: DataSource,
    @InjectRepository(AdmissionItem) private readonly items: Repository<AdmissionItem>,
    private readonly admitted: AdmittedItems,
    private readonly audit: AuditTrail,
    private readonly webhooks: AdmissionWebhooks,
    private readonly limit: PartitionLimit,
    private readonly blocks: Blocks,
    private readonly sweep: BlockSweep,
    private readonly states: SourceStates,
  ) {
    super(EVERY_MS, new Logger('admission'), { failed: 'Admitting due versions failed; it will be retried' });
  }

  protected async poll(): Promise<void> {
    const due = await this.dataSource.manager.find(Source, {
      select: { id: true, kind: true },
      where: {
        id: Raw(
          (id) => `${id} in (select source_id from admission_item where status = 'held' and due_at <= now())`,
        ),
      },
    });
    for (const { id: sourceId, kind } of due) {
      if (this.hasEnded) return;
      const admitted =
        kind === MANAGED_KIND
          ? await this.admitPublications(sourceId)
          : await this.dataSource.transaction((manager) => this.admitDue(manager, sourceId));
      if (admitted > 0) this.logger.log({ sourceId, admitted }, 'Admitted versions that were due');
    }
  }

  // The settings may have changed since the due time was computed, so every version is checked again.
  private async admitDue(manager: EntityManager, sourceId: number): Promise<number> {
    await waitForLocks(manager);
    if (!(await tryLockBulkWrite(manager, sourceId))) return 0;
    // If the settings of a source have changed, the source is synced first.
    const source = await lockSource(manager, sourceId)
      .innerJoin('source.state', 'state')
      .andWhere('(state.fetchState is not null or source.intervalMs is null)')
      .getOne();
    if (!source) return 0;
    const members = readsContents(source.admission)
      ? '(select t.members from content_tree t where t.digest = i.content_tree)'
      : 'null::jsonb';
    const items = await manager.query<DueItem[]>(
      `select i.id, i.type, i.name, i.version, i.digest, i.first_seen_at as "firstSeenAt",
         i.published_at as "publishedAt", v.id is not null as "isServed", i.claims, ${members} as members,
         ${ASKED} as asked
       from admission_item i
       left join entry e on e.source_id = i.source_id and e.type = i.type and e.name = i.name
       left join entry_version v on v.entry_id = e.id and v.version = i.version
       where i.source_id = $1 and i.status = 'held' and i.due_at <= now() order by i.due_at limit ${MAX_ITEMS}
       for update of i`,
      [sourceId],
    );
    const now = await transactionTime(manager);
    const known = new Set((await knownNames(manager, sourceId, items)).map(entryMapKey));
    const webhooks = this.webhooks.on('sync').map(({ name }) => name);
    // Webhooks that were added after the version arrived.
    const unasked = (item: DueItem) => webhooks.filter((name) => !item.asked.includes(name));
    const blocks = await this.blocks.inForce(manager);
    const blocked = await blockReasons(
      manager,
      blocks,
      items.map(({ id }) => id),
    );
    const judged = items.map((item) => {
      const isKnownName = known.has(entryMapKey(item));
      const contents = contentsOf(item.type, item.members);
      const verdict = curate(source.admission, { ...item, isKnownName, contents }, now);
      return {
        item,
        verdict: withReasons(verdict, [...unasked(item).map(waitingFor), ...(blocked.get(item.id) ?? [])]),
      };
    });
    const due = judged.flatMap(({ item, verdict }) => (verdict.outcome === 'admit' ? [item] : []));
    const staying = judged.flatMap(({ item: { id }, verdict }) =>
      verdict.outcome === 'admit' ? [] : [{ id, reasons: verdict.reasons }],
    );
    await setReasons(manager, staying);
    // The settings may have changed.
    await queueHeldContent(
      manager,
      staying.filter(({ reasons }) => reasons.includes(CONTENT_MISSING)),
    );
    for (const name of webhooks)
      await insertQuestions(
        manager,
        sourceId,
        items.filter((item) => unasked(item).includes(name)).map(({ id }) => id),
        [name],
      );
    await this.admitted.admit(
      manager,
      sourceId,
      due.map(({ id }) => id),
    );
    await this.audit.writeItems(
      manager,
      SYNC_ACTOR,
      due
        .slice(0, MAX_ITEM_EVENTS)
        .map((item) => itemEvent('admission.admit', item, source, item.claims ?? source.claims)),
    );
    await this.states.recount(manager, await countHeld(manager, [sourceId]));
    await this.sweep.settle(manager, [sourceId], blocks);
    return due.length;
  }

  /**
   * Admits publications one at a time, taking locks in the same order as publishing: entry, claim set, source. Webhooks
   * were asked about them when they arrived.
   */
  private async admitPublications(sourceId: number): Promise<number> {
    const items = await this.items.find({
      select: { id: true, type: true, name: true },
      where: { sourceId, ...IS_DUE },
      order: { dueAt: 'ASC' },
      take: MAX_ITEMS,
    });
    let admitted = 0;
    for (const item of items) {
      if (this.hasEnded) break;
      try {
        const isAdmitted = await this.dataSource.transaction((manager) =>
          this.admitPublication(manager, sourceId, item),
        );
        if (isAdmitted) admitted += 1;
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        // The source has reached its limit on claim sets.
        await this.items.update({ id: item.id, status: 'held' }, { dueAt: timeIn(60_000) });
      }
    }
    return admitted;
  }

  private async admitPublication(
    manager: EntityManager,
    sourceId: number,
    { id, type, name }: EntryName & { readonly id: string },
  ): Promise<boolean> {
    if (!(await tryLockBulkWrite(manager, sourceId))) return false;
    await lockEntry(manager, type, name);
    await this.admitted.addClaimSets(manager, [id]);
    const source = await lockSource(manager, sourceId).getOne();
    const item = (await manager.findOne(AdmissionItem, {
      where: { id, ...IS_DUE },
      lock: { mode: 'pessimistic_write' },
    })) as AdmittedVersion | null;
    if (!source || !item) return false;
    await this.admitted.admit(manager, sourceId, [id]);
    const claimSetId = await claimSetOf(manager, sourceId, item);
    if (claimSetId !== undefined) await this.limit.check(manager, sourceId, claimSetId);
    await this.audit.writeItems(manager, SYNC_ACTOR, [
      itemEvent('admission.admit', item, source, item.claims ?? source.claims),
    ]);
    return true;
  }
}

type AdmittedVersion = Pick<DueItem, 'type' | 'name' | 'version' | 'digest' | 'claims'>;
