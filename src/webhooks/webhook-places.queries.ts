import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { DataSource, Repository } from 'typeorm';
import type { AuditTarget } from '../audit/audit-event.js';
import { AuditEventRow } from '../audit/audit-event.entity.js';
import type { AuditAction } from '../config/audit-actions.js';
import { timeIn, utcText } from '../database/sql-expressions.js';
import { learn } from './known-entries.queries.js';
import { RETRY_OR_PAUSE, type RoundFailure } from './webhook-pause.queries.js';
import { type DeliveryAttempt, recordAttempts } from './webhook-states.queries.js';
import { Webhook } from './webhook.entity.js';
import type { EntryName } from '../documents/entry-types.js';

/**
 * Maximum number of events between two snapshots, unless one transaction wrote more. Bounds how much a statement sorts.
 */
const EVENTS_PER_WINDOW = 1_000;
/** Number of events that a statement reads to find those that the webhook wants. */
const EVENTS_PER_SLICE = 1_000;
const EVENTS_PER_PAGE = 100;
/** Maximum characters of the events on a page, which stays in memory until its receiver has it. */
const MAX_PAGE_CHARACTERS = 512 * 1_024;
/** Less than every event's ID. */
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

/** The place of a webhook in the audit trail. */
export interface TrailPlace {
  /** A `pg_snapshot`: all events of the transactions in it have been handled. */
  readonly past: string;
  /** The ID from which a replay sends events again. */
  readonly since: string | null;
  /** A `pg_snapshot`: the events between `past` and `until` are being handled, in the order of their IDs. */
  readonly until: string | null;
  /** The last of these events that was handled. */
  readonly after: string | null;
  /** The largest ID that was handled. */
  readonly latest: string | null;
}

/** A webhook that this replica sends. */
export interface HeldWebhook extends TrailPlace {
  readonly id: number;
  readonly generation: number;
  /** The end of the current window, or of the next one. */
  readonly until: string;
  /** Whether any events have not been handled. */
  readonly isBehind: boolean;
  /** Whether the snapshots belong to another database cluster, after a restore. */
  readonly isForeign: boolean;
  /** The transaction that configured the webhook, whose own events are not sent; null once it has been handled. */
  readonly configuredIn: string | null;
  readonly isPaused: boolean;
  readonly attempts: number;
  /** Time until the next attempt; at most 0 if it is due. */
  readonly waitMs: number;
  /** Age of the oldest event that is known to be undelivered. */
  readonly lagMs: number;
}

export interface TrailEvent {
  readonly id: string;
  /** RFC 3339 in UTC. */
  readonly time: string;
  readonly action: AuditAction;
  readonly outcome: 'allowed' | 'refused';
  readonly target: AuditTarget;
  /** Number of refusals and reads lost before this event. */
  readonly dropped?: number;
  readonly [member: string]: unknown;
}

/** The next events of a window. */
export interface TrailPage {
  readonly events: readonly TrailEvent[];
  /** The place after these events. */
  readonly next: TrailPlace;
}

/** The result of one round of deliveries. */
export interface Round {
  readonly id: number;
  readonly generation: number;
  readonly place: TrailPlace;
  readonly attempts: readonly DeliveryAttempt[];
  /** Entries that the receiver has learned about, or that have left its view. */
  readonly added: readonly EntryName[];
  readonly removed: readonly EntryName[];
  /** Time of the first undelivered event; null if there is none. */
  readonly behindSince: string | null;
  /** Null if nothing failed. */
  readonly failure: RoundFailure | null;
  readonly hasDelivered: boolean;
}

const isIn = (snapshot: string) =>
  `pg_visible_in_snapshot(transaction::text::xid8, ${snapshot}::text::pg_snapshot)`;
const oldest = (snapshot: string) => `pg_snapshot_xmin(${snapshot}::text::pg_snapshot)::text::bigint`;
const end = (snapshot: string) => `pg_snapshot_xmax(${snapshot}::text::pg_snapshot)::text::bigint`;
const NOW = 'pg_current_snapshot()';

// A window ends at the current snapshot, or earlier, at a transaction before which all others have ended. Webhooks at
// the same place share it. The transaction that configured a webhook is irrelevant once `past` contains it.
const HELD = `
with held as materialized (
  select *, case when not pg_visible_in_snapshot(configured_in::text::xid8, past::pg_snapshot) then configured_in end as own
  from webhook where lease_owner = $1
), places as materialized (
  select past, own, fresh.count,
    case when count = ${EVENTS_PER_WINDOW} and greatest(last + 1, ${end('past')}) < ${oldest(NOW)}
      then format('%1$s:%1$s:', greatest(last + 1, ${end('past')}))
      else ${NOW}::text end as until
  from (select distinct past, own from held) place cross join lateral (
    select count(*) as count, max(transaction) as last from (
      select transaction from audit_event
      where transaction >= ${oldest('past')} and not ${isIn('past')} and transaction is distinct from own
      order by transaction limit ${EVENTS_PER_WINDOW}
    ) next_events
  ) fresh
)
select w.id, w.generation, w.past, w.since, w.after, w.latest, w.attempts, w.own as "configuredIn",
  coalesce(w.until, p.until) as until,
  w.since is not null or w.until is not null or p.count > 0 as "isBehind",
  ${end('w.past')} > ${end(NOW)} as "isForeign", w.paused_at is not null as "isPaused",
  coalesce(extract(epoch from w.next_attempt_at - now()) * 1000, 0)::float8 as "waitMs",
  coalesce(extract(epoch from now() - w.behind_since) * 1000, 0)::float8 as "lagMs"
from held w join places p on p.past = w.past and p.own is not distinct from w.own`;

// Materialized: the planner would otherwise walk all events by ID to find the few of the window.
const WINDOW = `
fresh as materialized (
  select id from audit_event
  where transaction >= ${oldest('$1')} and transaction < ${end('$2')} and not ${isIn('$1')} and ${isIn('$2')}
    and transaction is distinct from $3::bigint and id > $4::uuid and $5::uuid is null
),
slice as materialized (select id from fresh order by id limit ${EVENTS_PER_SLICE})`;

const REPLAYED = `
slice as materialized (
  select id from audit_event
  where id > $4::uuid and (id >= $5::uuid or (transaction is not null and not ${isIn('$1')} and transaction is distinct from $3::bigint))
    and (transaction is null or ${isIn('$2')})
  order by id limit ${EVENTS_PER_SLICE}
)`;

const pageFrom = (slice: string) => `
with ${slice},
wanted as (
  select e.id, e.time, e.dropped, e.event::text as event,
    row_number() over (order by e.id) as place,
    sum(length(e.event::text)) over (order by e.id) - length(e.event::text) as before
  from slice join audit_event e on e.id = slice.id
  where $6::text[] is null or e.action = any($6)
)
select counts.*, page.id, ${utcText('page.time')} as time, page.dropped, page.event
from (
  select (select count(*)::int from slice) as scanned, (select count(*)::int from wanted) as wanted,
    (select id from slice order by id desc limit 1) as last
) counts left join (
  select * from wanted where place <= ${EVENTS_PER_PAGE} and before < ${MAX_PAGE_CHARACTERS}
) page on true
order by page.id`;

interface PageRow {
  readonly scanned: number;
  readonly wanted: number;
  readonly last: string | null;
  readonly id: string | null;
  readonly time: string;
  readonly dropped: number | null;
  readonly event: string;
}

/**
 * Reads and writes the places of webhooks in the audit trail.
 *
 * Transactions commit in a different order from their events' IDs, so a place cannot be an ID: it is a snapshot. Events
 * that have become visible since are sent in ID order. The IDs of one target's events ascend, because a transaction
 * that writes one holds the target's lock, so a later event is never visible before an earlier one.
 */
@Injectable()
export class WebhookPlaces {
  constructor(
    private readonly dataSource: DataSource,
    @InjectRepository(Webhook) private readonly webhooks: Repository<Webhook>,
    @InjectRepository(AuditEventRow) private readonly events: Repository<AuditEventRow>,
  ) {}

  /** Takes the free leases of these webhooks. */
  async take(
    owner: string,
    names: readonly string[],
    leaseMs: number,
  ): Promise<{ readonly id: number; readonly name: string }[]> {
    const { raw } = await this.webhooks
      .createQueryBuilder()
      .update()
      .set({ leaseOwner: owner, leaseUntil: timeIn(leaseMs) })
      .where('name = any(:names) and (lease_until is null or lease_until < now())', { names })
      .returning(['id', 'name'])
      .execute();
    return raw as { id: number; name: string }[];
  }

  /** Extends the leases of an owner; returns the webhooks whose leases the owner still holds. */
  async renew(owner: string, leaseMs: number): Promise<number[]> {
    const { raw } = await this.webhooks
      .createQueryBuilder()
      .update()
      .set({ leaseUntil: timeIn(leaseMs) })
      .where({ leaseOwner: owner })
      .returning(['id'])
      .execute();
    return (raw as { id: number }[]).map(({ id }) => id);
  }

  async release(owner: string): Promise<void> {
    await this.webhooks.update({ leaseOwner: owner }, { leaseOwner: null, leaseUntil: null });
  }

  /** Returns the states of the webhooks leased by an owner. */
  async held(owner: string): Promise<HeldWebhook[]> {
    return this.dataSource.query<HeldWebhook[]>(HELD, [owner]);
  }

  /** Returns the next events with these actions; null for all. */
  async page(
    { past, until, since, after, latest, configuredIn }: HeldWebhook,
    actions: readonly string[] | null,
  ): Promise<TrailPage> {
    const rows = await this.dataSource.query<PageRow[]>(pageFrom(since === null ? WINDOW : REPLAYED), [
      past,
      until,
      configuredIn,
      after ?? FIRST_ID,
      since,
      actions,
    ]);
    const events = rows.flatMap(({ id, time, dropped, event }) =>
      id === null
        ? []
        : [
            {
              id,
              time,
              ...(dropped === null ? {} : { dropped }),
              ...(JSON.parse(event) as object),
            } as TrailEvent,
          ],
    );
    const { scanned = 0, wanted = 0, last = null } = rows[0] ?? {};
    const isWhole = events.length === wanted;
    const reached = (isWhole ? last : events.at(-1)?.id) ?? after;
    const largest =
      [latest, reached]
        .filter((id) => id !== null)
        .sort()
        .at(-1) ?? null;
    const next =
      isWhole && scanned < EVENTS_PER_SLICE
        ? { past: until, since: null, until: null, after: null, latest: largest }
        : { past, since, until, after: reached, latest: largest };
    return { events, next };
  }

  /**
   * Saves the progress of rounds in one transaction.
   *
   * @returns the IDs of the saved webhooks; for the others, the lease was lost, or a request changed the place.
   */
  async save(owner: string, rounds: readonly Round[]): Promise<ReadonlySet<number>> {
    return this.dataSource.transaction(async (manager) => {
      const rows = rounds.map(({ id, generation, place, behindSince, hasDelivered, failure }) => ({
        ...{ id, generation, behindSince, hasDelivered },
        ...place,
        ...failure,
      }));
      const [updated] = await manager.query<[{ id: number }[], number]>(SAVE, [owner, JSON.stringify(rows)]);
      const saved = new Set(updated.map(({ id }) => id));
      const kept = rounds.filter(({ id }) => saved.has(id));
      for (const { id, added, removed } of kept) await learn(manager, id, added, removed);
      await recordAttempts(manager, kept);
      return saved;
    });
  }

  /**
   * Continues after a restore: replaces snapshots that belong to another database cluster, so the events from the last
   * one on are sent again.
   */
  async restart(owner: string): Promise<void> {
    // Otherwise events would become visible again when the cluster reaches their transactions.
    for (let count = EVENTS_PER_SLICE; count === EVENTS_PER_SLICE;)
      [, count] = await this.dataSource.query<[unknown[], number]>(
        `update audit_event set transaction = null where id in (
           select id from audit_event where transaction >= ${end(NOW)} limit ${EVENTS_PER_SLICE})`,
      );
    const last = () => `coalesce(latest, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)`;
    const generation = () => 'generation + 1';
    await this.webhooks
      .createQueryBuilder()
      .update()
      .set({ past: () => `${NOW}::text`, since: last, until: null, after: last, generation })
      .where(`lease_owner = :owner and ${end('past')} > ${end(NOW)}`, { owner })
      .execute();
  }

  /** Returns which of these names have events after a place. */
  async changingAfter(
    { past, until, after }: TrailPlace,
    names: readonly string[],
  ): Promise<ReadonlySet<string>> {
    const rows = await this.dataSource.query<{ target: string }[]>(
      `with later as materialized (
         select target, action from audit_event
         where transaction >= ${oldest('$1')} and not ${isIn('$1')}
           and ($2::text is null or not ${isIn('$2')} or id > $3::uuid)
       )
       select distinct target from later where action like 'entry.%' and target = any($4)`,
      [past, until, after ?? FIRST_ID, names],
    );
    return new Set(rows.map(({ target }) => target));
  }

  /** Returns the last change to the configuration; undefined if it was never recorded, or deleted since. */
  async lastConfiguration(): Promise<Pick<TrailEvent, 'id' | 'time'> | undefined> {
    const event = await this.events.findOne({
      select: { id: true, time: true },
      where: { action: 'config.apply' },
      order: { id: 'DESC' },
    });
    return event ? { id: event.id, time: event.time.toISOString() } : undefined;
  }
}

const SAVE = `
update webhook w set past = p.past, since = p.since, until = p.until, after = p.after, latest = p.latest,
  behind_since = p."behindSince",${RETRY_OR_PAUSE}
from jsonb_to_recordset($2) as p(id int, generation int, past text, since uuid, until text, after uuid, latest uuid,
  "behindSince" timestamptz, "hasDelivered" boolean, error text, "backOffMs" float8, "retryAfterMs" float8, "retryForMs" float8)
where w.id = p.id and w.generation = p.generation and w.lease_owner = $1
returning w.id`;
