import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { SYNC_ACTOR } from '../audit/audit-event.js';
import { AuditTrail } from '../audit/audit-trail.js';
import type { Claims } from '../claims/claims.js';
import { lockEntry, transactionTime, tryLockBulkWrite, waitForLocks } from '../database/statements.js';
import { Polling } from '../database/polling.js';
import { entryMapKey, type EntryName, type VersionName } from '../documents/entry-types.js';
import { ApiError } from '../http/errors.js';
import { MANAGED_KIND } from '../source-kinds/kinds.js';
import { AdmittedItems } from './admitted-items.queries.js';
import { PartitionLimit } from '../visibility/views.queries.js';
import { SourceStates } from '../sources/source-states.queries.js';
import { AdmissionWebhooks, waitingFor } from './admission-webhooks.js';
import { BlockSweep } from './block-sweep.queries.js';
import { blockReasons, Blocks } from './blocks.queries.js';
import { curate, type StoredAdmission, withReasons } from './curation.js';
import { ASKED, countHeld, setReasons } from './held-items.queries.js';
import { claimSetOf } from './item-decisions.queries.js';
import { knownNames } from './synced-source.queries.js';
import { MAX_ITEM_EVENTS } from './synced-admission.js';
import { insertQuestions } from './webhook-questions.queries.js';

/** Due versions are admitted within 10 s (reference/admission). */
const EVERY_MS = 3_000;
/** Versions admitted by one transaction. */
const MAX_ITEMS = 10_000;

interface DueItem extends VersionName {
  readonly id: string;
  readonly digest: Buffer;
  readonly firstSeenAt: Date;
  readonly publishedAt: Date | null;
  readonly isServed: boolean;
  readonly claims: Claims | null;
  /** The admission webhooks that have been asked about the document. */
  readonly asked: readonly string[];
}

interface DueSource {
  readonly name: string;
  readonly claims: Claims;
  readonly admission: StoredAdmission | null;
}

/** Admits held versions when their time has come, on one replica. */
@Injectable()
export class DueItems implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('admission');
  private readonly polling = new Polling(() => this.run(), EVERY_MS, this.logger, {
    failed: 'Admitting due versions failed; it will be retried',
  });

  constructor(
    private readonly dataSource: DataSource,
    private readonly admitted: AdmittedItems,
    private readonly audit: AuditTrail,
    private readonly webhooks: AdmissionWebhooks,
    private readonly limit: PartitionLimit,
    private readonly blocks: Blocks,
    private readonly sweep: BlockSweep,
    private readonly states: SourceStates,
  ) {}

  onApplicationBootstrap(): void {
    this.polling.begin();
  }

  onApplicationShutdown(): Promise<void> {
    return this.polling.end();
  }

  pollNow(): void {
    this.polling.pollNow();
  }

  private async run(): Promise<void> {
    const due = await this.dataSource.query<{ sourceId: number; isManaged: boolean }[]>(
      `select s.id as "sourceId", s.kind = '${MANAGED_KIND}' as "isManaged" from source s
       where s.id in (select source_id from admission_item where status = 'held' and due_at <= now())`,
    );
    for (const { sourceId, isManaged } of due) {
      if (this.polling.hasEnded) return;
      const admitted = isManaged
        ? await this.admitPublications(sourceId)
        : await this.dataSource.transaction((manager) => this.admitDue(manager, sourceId));
      if (admitted > 0) this.logger.log({ sourceId, admitted }, 'Admitted versions that were due');
    }
  }

  // The settings may have changed since the time was computed, so every version is judged again.
  private async admitDue(manager: EntityManager, sourceId: number): Promise<number> {
    await waitForLocks(manager);
    if (!(await tryLockBulkWrite(manager, sourceId))) return 0;
    // A source whose settings have changed is read again first.
    const [source] = await manager.query<DueSource[]>(
      `select s.name, c.claims, s.admission from source s join claim_set c on c.id = s.claim_set_id
       where s.id = $1 and exists (
         select 1 from source_sync y where y.source_id = s.id and (y.fetch_state is not null or s.interval_ms is null))
       for no key update of s`,
      [sourceId],
    );
    if (!source) return 0;
    const items = await manager.query<DueItem[]>(
      `select i.id, i.type, i.name, i.version, i.digest, i.first_seen_at as "firstSeenAt",
         i.published_at as "publishedAt", v.id is not null as "isServed", i.claims,
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
    // Webhooks added since the version arrived.
    const unasked = (item: DueItem) => webhooks.filter((name) => !item.asked.includes(name));
    const blocks = await this.blocks.inForce(manager);
    const blocked = await blockReasons(
      manager,
      blocks,
      items.map(({ id }) => id),
    );
    const judged = items.map((item) => {
      const isKnownName = known.has(entryMapKey(item));
      const verdict = curate(source.admission, { ...item, isKnownName }, now);
      return {
        item,
        verdict: withReasons(verdict, [...unasked(item).map(waitingFor), ...(blocked.get(item.id) ?? [])]),
      };
    });
    const due = judged.flatMap(({ item, verdict }) => (verdict.outcome === 'admit' ? [item] : []));
    await setReasons(
      manager,
      judged.flatMap(({ item: { id }, verdict }) =>
        verdict.outcome === 'admit' ? [] : [{ id, reasons: verdict.reasons }],
      ),
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
      due.slice(0, MAX_ITEM_EVENTS).map((item) => ({
        ...admission(source, item),
        role: 'manageSources' as const,
      })),
    );
    await this.states.recount(manager, await countHeld(manager, [sourceId]));
    await this.sweep.settle(manager, [sourceId], blocks);
    return due.length;
  }

  /**
   * Admits publications one by one, as publishing would, and in its order of locks: entry, claim set, source. Webhooks were
   * asked about them when they arrived.
   */
  private async admitPublications(sourceId: number): Promise<number> {
    const items = await this.dataSource.query<(EntryName & { id: string })[]>(
      `select id, type, name from admission_item where source_id = $1 and status = 'held' and due_at <= now()
       order by due_at limit ${MAX_ITEMS}`,
      [sourceId],
    );
    let admitted = 0;
    for (const item of items) {
      if (this.polling.hasEnded) break;
      try {
        const isAdmitted = await this.dataSource.transaction((manager) =>
          this.admitPublication(manager, sourceId, item),
        );
        if (isAdmitted) admitted += 1;
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        // The source has no room for another claim set.
        await this.dataSource.query(
          `update admission_item set due_at = now() + interval '1 minute' where id = $1 and status = 'held'`,
          [item.id],
        );
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
    const [source] = await manager.query<Pick<DueSource, 'name' | 'claims'>[]>(
      `select s.name, c.claims from source s join claim_set c on c.id = s.claim_set_id where s.id = $1
       for no key update of s`,
      [sourceId],
    );
    const [item] = await manager.query<AdmittedVersion[]>(
      `select type, name, version, digest, claims from admission_item
       where id = $1 and status = 'held' and due_at <= now() for update`,
      [id],
    );
    if (!source || !item) return false;
    await this.admitted.admit(manager, sourceId, [id]);
    const claimSetId = await claimSetOf(manager, sourceId, item);
    if (claimSetId !== undefined) await this.limit.check(manager, sourceId, claimSetId);
    await this.audit.writeItems(manager, SYNC_ACTOR, [admission(source, item)]);
    return true;
  }
}

type AdmittedVersion = Pick<DueItem, 'type' | 'name' | 'version' | 'digest' | 'claims'>;

function admission(
  source: Pick<DueSource, 'name' | 'claims'>,
  { type, name, version, digest, claims }: AdmittedVersion,
) {
  return {
    action: 'admission.admit' as const,
    target: { type, name, version, source: source.name },
    claims: [claims ?? source.claims],
    change: { after: { sha256: digest.toString('hex') } },
  };
}
