import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { utcText } from '../database/statements.js';
import type { WebhookAnswer } from './webhooks.responses.js';

export type WebhookStatus = WebhookAnswer['status'];

export interface WebhookState {
  readonly name: string;
  readonly status: WebhookStatus;
  /** In whole seconds. */
  readonly lag: number;
  readonly lastError: string | null;
}

export interface DeliveryRow {
  readonly id: string;
  readonly type: string;
  readonly status: string;
  readonly attempts: number;
  readonly at: string;
  readonly error: string | null;
}

/** Deliveries that are kept for each webhook. */
const MAX_DELIVERIES = 1_000;

/** An attempt to deliver a message. */
export interface Attempt {
  readonly id: string;
  readonly type: string;
  /** Including this one. */
  readonly attempts: number;
  /** Undefined if it was delivered. */
  readonly error?: string | undefined;
}

const STATUS = `case when paused_at is not null then 'paused' when attempts > 0 then 'retrying' else 'active' end`;

/** Reads and changes the states of webhooks for requests. */
@Injectable()
export class WebhookStates {
  constructor(private readonly dataSource: DataSource) {}

  /** Returns the states of these webhooks, by name. */
  async all(names: readonly string[]): Promise<Map<string, WebhookState>> {
    const rows = await this.dataSource.query<WebhookState[]>(
      `select name, ${STATUS} as status, last_error as "lastError",
         coalesce(greatest(extract(epoch from now() - behind_since), 0), 0)::int as lag
       from webhook where name = any($1)`,
      [names],
    );
    return new Map(rows.map((row) => [row.name, row]));
  }

  /** Returns the last deliveries of a webhook, newest first. */
  async deliveries(name: string): Promise<DeliveryRow[]> {
    return this.dataSource.query<DeliveryRow[]>(
      `select d.id, d.type, d.status, d.attempts, ${utcText('d.at')} as at, d.error
       from webhook_delivery d join webhook w on w.id = d.webhook_id
       where w.name = $1 order by d.at desc, d.id desc limit ${MAX_DELIVERIES}`,
      [name],
    );
  }

  /** Locks a webhook until the transaction ends; returns its status, `active` if it was removed. */
  async lock(manager: EntityManager, name: string): Promise<WebhookStatus> {
    const [row] = await manager.query<{ status: WebhookStatus }[]>(
      `select ${STATUS} as status from webhook where name = $1 for update`,
      [name],
    );
    return row?.status ?? 'active';
  }

  /** Deletes deliveries of these webhooks beyond MAX_DELIVERIES, oldest first. */
  async forgetDeliveries(ids: readonly number[]): Promise<void> {
    await this.dataSource.query(
      `delete from webhook_delivery d using unnest($1::int[]) as w(id) cross join lateral (
         select at, id from webhook_delivery where webhook_id = w.id order by at desc, id desc offset ${MAX_DELIVERIES} limit 1
       ) oldest where d.webhook_id = w.id and (d.at, d.id) <= (oldest.at, oldest.id)`,
      [ids],
    );
  }

  async resume(manager: EntityManager, name: string): Promise<void> {
    await manager.query(
      `update webhook set paused_at = null, attempts = 0, failing_since = null, next_attempt_at = null,
         last_error = null where name = $1`,
      [name],
    );
  }

  /**
   * Moves the place of a webhook back: all events from this ID on, and all that were not sent, are sent in the order of
   * their IDs.
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

/** Records attempts. A message may be attempted twice in a round: only the last attempt counts. */
export async function recordAttempts(
  manager: EntityManager,
  rounds: readonly { readonly id: number; readonly attempts: readonly Attempt[] }[],
): Promise<void> {
  const rows = rounds.flatMap(({ id: webhook, attempts }) => {
    const last = new Map(attempts.map((attempt) => [attempt.id, { webhook, ...attempt }]));
    return [...last.values()];
  });
  if (rows.length === 0) return;
  await manager.query(
    `insert into webhook_delivery (webhook_id, id, type, status, attempts, at, error)
     select a.webhook, a.id, a.type, case when a.error is null then 'delivered' else 'failed' end, a.attempts, now(), a.error
     from jsonb_to_recordset($1) as a(webhook int, id text, type text, attempts int, error text)
     on conflict (webhook_id, id) do update
       set status = excluded.status, attempts = excluded.attempts, at = excluded.at, error = excluded.error`,
    [JSON.stringify(rows)],
  );
}
