import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { SYNC_ACTOR } from '../audit/audit-event.js';
import { AuditTrail } from '../audit/audit-trail.js';
import type { Claims } from '../claims/claims.js';
import { BackgroundJob } from '../database/background-job.js';
import { enterAdmission, transactionTime } from '../database/statements.js';
import { Polling } from '../database/polling.js';
import { entryMapKey, type VersionName } from '../documents/entry-types.js';
import { ApiError } from '../http/errors.js';
import { MANAGED_KIND } from '../source-kinds/kinds.js';
import { AdmittedItems } from './admitted-items.queries.js';
import { PartitionLimit } from '../visibility/views.queries.js';
import { AdmissionWebhooks, waitingFor } from './admission-webhooks.js';
import { curate, type StoredAdmission, withReasons } from './curation.js';
import { ASKED, setReasons } from './held-items.queries.js';
import { claimSetOf } from './item-decisions.queries.js';
import { knownNames } from './synced-source.queries.js';
import { MAX_ITEM_EVENTS } from './synced-admission.js';
import { insertQuestions } from './webhook-questions.queries.js';

/** Due versions are admitted within 10 s (contract §11). */
const EVERY_MS = 3_000;
/** Versions admitted by one transaction. */
const MAX_ITEMS = 10_000;
/** Advisory lock, with the id of the source, of the replica that admits what is due. */
const DUE_LOCK = 726_401;

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
  readonly kind: string;
  readonly claims: Claims;
  readonly admission: StoredAdmission | null;
}

/** Admits held versions when their time has come, on one replica. */
@Injectable()
@BackgroundJob()
export class DueItems implements OnApplicationShutdown {
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
  ) {}

  begin(): void {
    this.polling.begin();
  }

  onApplicationShutdown(): Promise<void> {
    return this.polling.end();
  }

  pollNow(): void {
    this.polling.pollNow();
  }

  private async run(): Promise<void> {
    const due = await this.dataSource.query<{ sourceId: number }[]>(
      `select distinct source_id as "sourceId" from admission_item where status = 'held' and due_at <= now()`,
    );
    for (const { sourceId } of due) {
      if (this.polling.hasEnded) return;
      const admitted = await this.dataSource.transaction((manager) => this.admitDue(manager, sourceId));
      if (admitted > 0) this.logger.log({ sourceId, admitted }, 'Admitted versions that were due');
    }
  }

  // The settings may have changed since the time was computed, so every version is judged again.
  private async admitDue(manager: EntityManager, sourceId: number): Promise<number> {
    const [lock] = await manager.query<{ held: boolean }[]>(
      `select pg_try_advisory_xact_lock(${DUE_LOCK}, $1) as held`,
      [sourceId],
    );
    if (lock?.held !== true) return 0;
    await enterAdmission(manager);
    // A source whose settings have changed is read again first.
    const [source] = await manager.query<DueSource[]>(
      `select s.name, s.kind, c.claims, s.admission from source s join claim_set c on c.id = s.claim_set_id
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
    // Publications were asked about when they arrived; a synced version is asked about by webhooks that are new.
    const webhooks = source.kind === MANAGED_KIND ? [] : this.webhooks.on('sync').map(({ name }) => name);
    const unasked = (item: DueItem) => webhooks.filter((name) => !item.asked.includes(name));
    const judged = items.map((item) => {
      const isKnownName = known.has(entryMapKey(item));
      const verdict = curate(source.admission, { ...item, isKnownName }, now);
      return { item, verdict: withReasons(verdict, unasked(item).map(waitingFor)) };
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
    const admitted =
      source.kind === MANAGED_KIND ? await this.admitPublications(manager, sourceId, due) : due;
    if (source.kind !== MANAGED_KIND)
      await this.admitted.admit(
        manager,
        sourceId,
        due.map(({ id }) => id),
      );
    await this.audit.writeItems(
      manager,
      SYNC_ACTOR,
      admitted.slice(0, MAX_ITEM_EVENTS).map(({ type, name, version, digest, claims }) => ({
        action: 'admission.admit' as const,
        target: { type, name, version, source: source.name },
        ...(source.kind === MANAGED_KIND ? {} : { role: 'manageSources' as const }),
        claims: [claims ?? source.claims],
        change: { after: { sha256: digest.toString('hex') } },
      })),
    );
    return admitted.length;
  }

  /** Admits publications one by one, as publishing would; those that the source has no room for wait. */
  private async admitPublications(
    manager: EntityManager,
    sourceId: number,
    items: readonly DueItem[],
  ): Promise<DueItem[]> {
    const admitted: DueItem[] = [];
    for (const item of items)
      try {
        await manager.transaction(async (nested) => {
          await this.admitted.admit(nested, sourceId, [item.id]);
          const claimSetId = await claimSetOf(nested, sourceId, item);
          if (claimSetId !== undefined) await this.limit.check(nested, sourceId, claimSetId);
        });
        admitted.push(item);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        await manager.query(`update admission_item set due_at = now() + interval '1 minute' where id = $1`, [
          item.id,
        ]);
      }
    return admitted;
  }
}
