import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, In, Repository } from 'typeorm';
import { ApiError } from '../http/errors.js';
import { Webhook, WebhookDeliveryRow } from './webhook.entity.js';
import type { WebhookAnswer } from './webhooks.responses.js';

export type WebhookStatus = WebhookAnswer['status'];

export interface WebhookState {
  readonly name: string;
  readonly status: WebhookStatus;
  /** The lag in whole seconds. */
  readonly lag: number;
  readonly lastError: string | null;
}

/** Number of deliveries kept per webhook. */
const MAX_DELIVERIES = 1_000;

export interface DeliveryAttempt {
  readonly id: string;
  readonly type: string;
  /** Undefined if it was delivered. */
  readonly error?: string | undefined;
}

const STATUS = `case when webhook.paused_at is not null then 'paused' when webhook.attempts > 0 then 'retrying' else 'active' end`;

/** Reads and changes the states of webhooks for requests. */
@Injectable()
export class WebhookStates {
  constructor(
    @InjectRepository(Webhook) private readonly webhooks: Repository<Webhook>,
    @InjectRepository(WebhookDeliveryRow) private readonly attempts: Repository<WebhookDeliveryRow>,
  ) {}

  async all(names: readonly string[]): Promise<Map<string, WebhookState>> {
    const rows = await this.webhooks
      .createQueryBuilder('webhook')
      .select('webhook.name', 'name')
      .addSelect(STATUS, 'status')
      .addSelect('webhook.lastError', 'lastError')
      .addSelect('coalesce(greatest(extract(epoch from now() - webhook.behindSince), 0), 0)::int', 'lag')
      .where({ name: In(names) })
      .getRawMany<WebhookState>();
    return new Map(rows.map((row) => [row.name, row]));
  }

  /** Returns the last deliveries of a webhook, newest first. */
  deliveries(name: string): Promise<WebhookDeliveryRow[]> {
    return this.attempts
      .createQueryBuilder('delivery')
      .innerJoin('delivery.webhook', 'webhook', 'webhook.name = :name', { name })
      .orderBy({ 'delivery.at': 'DESC', 'delivery.id': 'DESC' })
      .limit(MAX_DELIVERIES)
      .getMany();
  }

  /**
   * Locks a webhook until the transaction ends, and returns its status.
   *
   * @throws ApiError 404 `webhook_not_found`.
   */
  async lock(manager: EntityManager, name: string): Promise<WebhookStatus> {
    const row = await manager
      .createQueryBuilder(Webhook, 'webhook')
      .select(STATUS, 'status')
      .where({ name })
      .setLock('pessimistic_write')
      .getRawOne<{ status: WebhookStatus }>();
    if (!row) throw new ApiError('webhook_not_found');
    return row.status;
  }

  /** Deletes deliveries of these webhooks beyond MAX_DELIVERIES, oldest first. */
  async forgetDeliveries(ids: readonly number[]): Promise<void> {
    await this.attempts.query(
      `delete from webhook_delivery d using unnest($1::int[]) as w(id) cross join lateral (
         select at, id from webhook_delivery where webhook_id = w.id order by at desc, id desc offset ${MAX_DELIVERIES} limit 1
       ) oldest where d.webhook_id = w.id and (d.at, d.id) <= (oldest.at, oldest.id)`,
      [ids],
    );
  }

  /**
   * Moves the place of a webhook back: all events from this ID on, and all events that were not sent, are sent in ID
   * order.
   */
  async replay(manager: EntityManager, name: string, since: string): Promise<void> {
    await manager.query(
      `with unsent as materialized (
         select e.id from webhook w join audit_event e
           on e.transaction >= pg_snapshot_xmin(w.past::pg_snapshot)::text::bigint
             and not pg_visible_in_snapshot(e.transaction::text::xid8, w.past::pg_snapshot)
         where w.name = $1
       )
       update webhook set generation = generation + 1, until = pg_current_snapshot()::text,
         since = least(since, $2::uuid),
         after = least($2::uuid, (select id from unsent order by id limit 1), case when since is not null then after end)
       where name = $1`,
      [name, since],
    );
  }
}

/** Records attempts to deliver messages. The count of a message starts over once it is delivered. */
export async function recordAttempts(
  manager: EntityManager,
  rounds: readonly { readonly id: number; readonly attempts: readonly DeliveryAttempt[] }[],
): Promise<void> {
  const rows = rounds.flatMap(({ id: webhook, attempts }) =>
    attempts.map((attempt) => ({ webhook, ...attempt })),
  );
  if (rows.length === 0) return;
  await manager.query(
    `insert into webhook_delivery as d (webhook_id, id, type, status, attempts, at, error)
     select a.webhook, a.id, a.type, case when a.error is null then 'delivered' else 'failed' end, 1, now(), a.error
     from jsonb_to_recordset($1) as a(webhook int, id text, type text, error text)
     on conflict (webhook_id, id) do update set status = excluded.status, at = excluded.at, error = excluded.error,
       attempts = case when d.status = 'failed' then d.attempts else 0 end + 1`,
    [JSON.stringify(rows)],
  );
}
