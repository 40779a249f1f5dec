import { type EntityManager, In } from 'typeorm';
import type { Claims } from '../claims/claims.js';
import { insertMany } from '../database/bulk.js';
import { transactionTime } from '../database/locks.js';
import { timeIn } from '../database/sql-expressions.js';
import type { VersionName } from '../documents/entry-types.js';
import { batches } from '../limits/batches.js';
import { AdmissionItem, AdmissionQuestion } from './admission.entity.js';
import type { AskedVersion } from './admission-webhooks.js';
import type { HoldReason } from './hold-reason.js';

const BATCH = 1_000;

/** A question that this replica is asking. */
export interface WebhookQuestion {
  readonly itemId: string;
  readonly sourceId: number;
  /** Number of failures so far. */
  readonly attempts: number;
}

/** An item about which webhooks have responded. */
export interface AnsweredItem extends VersionName {
  readonly id: string;
  readonly digest: Buffer;
  readonly claims: Claims | null;
  readonly reasons: readonly HoldReason[];
  /** The webhooks that have not responded yet. */
  readonly open: readonly string[];
}

/** Queues questions to the webhooks about these items. */
export async function insertQuestions(
  manager: EntityManager,
  sourceId: number,
  itemIds: readonly string[],
  webhooks: readonly string[],
  delayMs = 0,
): Promise<void> {
  if (itemIds.length * webhooks.length === 0) return;
  const askAt = new Date((await transactionTime(manager)).getTime() + delayMs);
  const question = { sourceId, attempts: delayMs > 0 ? 1 : 0, askAt };
  for await (const batch of batches(itemIds, BATCH)) {
    const rows = batch.flatMap((itemId) => webhooks.map((webhook) => ({ ...question, itemId, webhook })));
    await insertMany(manager, AdmissionQuestion, rows, 'on conflict do nothing');
  }
}

/**
 * Takes due questions, with the same chance for each source, and leases them: when a lease expires without a response,
 * any replica can take the question again.
 */
export async function takeQuestions(
  manager: EntityManager,
  webhook: string,
  limit: number,
  leaseMs: number,
): Promise<WebhookQuestion[]> {
  const [rows] = await manager.query<[WebhookQuestion[], number]>(
    `with due as materialized (
       select d.item_id from source s cross join lateral (
         select item_id, row_number() over (order by ask_at) as turn from admission_question
         where webhook = $1 and source_id = s.id and ask_at <= now() order by ask_at limit $2::int
       ) d order by d.turn, random() limit $2::int
     )
     update admission_question q set ask_at = now() + $3::float * interval '1 millisecond' from due
     where q.item_id = due.item_id and q.webhook = $1 and q.ask_at <= now()
     returning q.item_id as "itemId", q.source_id as "sourceId", q.attempts`,
    [webhook, limit, leaseMs],
  );
  return rows;
}

/** Returns the version to ask about; null if a response is no longer needed. */
export async function askedVersion(manager: EntityManager, itemId: string): Promise<AskedVersion | null> {
  const row = await manager
    .createQueryBuilder(AdmissionItem, 'item')
    .innerJoin('item.source', 'source')
    .innerJoin('source.claimSet', 'claimSet')
    .select(['item.id as id', 'source.name as source', 'item.type as type', 'item.name as name'])
    .addSelect('item.version', 'version')
    .addSelect('item.document', 'document')
    .addSelect('coalesce(item.claims, claimSet.claims)', 'claims')
    .addSelect('item.publisher', 'publisher')
    .where({ id: itemId, status: 'held', isApproved: false })
    .getRawOne<AskedVersion>();
  return row ?? null;
}

/** Locks the items of this source that still wait for a response. */
export async function lockAnswered(
  manager: EntityManager,
  sourceId: number,
  itemIds: readonly string[],
): Promise<AnsweredItem[]> {
  return manager.query(
    `select i.id, i.type, i.name, i.version, i.digest, i.claims, i.reasons,
       array(select q.webhook from admission_question q where q.item_id = i.id and q.ask_at is not null) as open
     from admission_item i
     where i.id = any($2::uuid[]) and i.source_id = $1 and i.status = 'held' and not i.is_approved
     order by i.id for update of i`,
    [sourceId, itemIds],
  );
}

/** Ends questions, so that the webhook is not asked about these items again. */
export async function endQuestions(
  manager: EntityManager,
  webhook: string,
  itemIds: readonly string[],
): Promise<void> {
  await manager.update(AdmissionQuestion, { itemId: In(itemIds), webhook }, { askAt: null });
}

/** Schedules another request to a webhook that failed. */
export async function postponeQuestion(
  manager: EntityManager,
  webhook: string,
  itemId: string,
  delayMs: number,
): Promise<void> {
  const attempts = () => 'attempts + 1';
  await manager.update(AdmissionQuestion, { itemId, webhook }, { attempts, askAt: timeIn(delayMs) });
}
