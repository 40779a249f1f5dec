import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { utcText } from '../database/sql-expressions.js';
import { type AuditEvent, boundedText, eventText, storedScope } from './audit-event.js';

const EVENTS_PER_STATEMENT = 500;

/** An event queued by RefusalsAndReads. */
export interface WaitingEvent {
  readonly event: AuditEvent;
  /** Time elapsed since the event. */
  readonly ageMs: number;
  /** The number of events that were dropped before this one. */
  readonly dropped: number | null;
  /** If false, the event is processed like any other, for equal timing, but not stored. */
  readonly isKept: boolean;
}

export interface WrittenEvent {
  readonly id: string;
  /** RFC 3339 in UTC. */
  readonly time: string;
  /** The other members, as JSON. */
  readonly event: string;
}

// Builds a UUIDv7 from `micros`: 48 bits of milliseconds, the remaining microseconds in the next 12 bits, and 62 random
// bits. Events in one statement are a microsecond apart, which preserves their order.
const INSERT = `
with clock as materialized (select clock_timestamp() as now),
timed as (
  select n.*, floor(extract(epoch from clock.now - n.age_ms * interval '1 millisecond') * 1000000)::bigint + n.place as micros
  from clock cross join unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bytea[], $7::int[], $8::text[],
      $9::float8[], $10::boolean[], $11::text[]) with ordinality
    as n(action, outcome, actor, target, scope, scope_digest, dropped, event, age_ms, is_kept, actor_name, place)
)
insert into audit_event (id, time, action, outcome, actor, target, scope, scope_digest, dropped, event, actor_name)
select (lpad(to_hex(micros / 1000), 12, '0') || '7' || lpad(to_hex(micros % 1000 * 4), 3, '0')
    || right(replace(gen_random_uuid()::text, '-', ''), 16))::uuid,
  to_timestamp((micros / 1000)::numeric / 1000), action, outcome, actor, target, scope::jsonb, scope_digest, dropped, event::json, actor_name
from timed where is_kept
returning id, ${utcText('time')} as time, event::text as event`;

@Injectable()
export class AuditQueries {
  constructor(private readonly dataSource: DataSource) {}

  /** Writes events in the given order. */
  async insert(
    waiting: readonly WaitingEvent[],
    manager: EntityManager = this.dataSource.manager,
  ): Promise<WrittenEvent[]> {
    const rows = waiting.map(({ event }) => ({ event, stored: event.scope && storedScope(event.scope) }));
    return manager.query<WrittenEvent[]>(INSERT, [
      rows.map(({ event }) => event.action),
      rows.map(({ event }) => event.outcome),
      rows.map(({ event }) => event.actor.subject),
      rows.map(({ event }) => boundedText(event.target.name)),
      rows.map(({ stored }) => stored?.scope ?? null),
      rows.map(({ stored }) => stored?.digest ?? null),
      waiting.map(({ dropped }) => dropped),
      rows.map(({ event }) => eventText(event)),
      waiting.map(({ ageMs }) => ageMs),
      waiting.map(({ isKept }) => isKept),
      rows.map(({ event }) => event.actor.name ?? null),
    ]);
  }

  /** Writes events in the same transaction as their changes. While a target is locked, the IDs of its events ascend. */
  async insertChanges(manager: EntityManager, events: readonly AuditEvent[]): Promise<WrittenEvent[]> {
    const waiting = events.map((event) => ({ event, ageMs: 0, dropped: null, isKept: true }));
    const written: WrittenEvent[] = [];
    for (let start = 0; start < waiting.length; start += EVENTS_PER_STATEMENT)
      written.push(...(await this.insert(waiting.slice(start, start + EVENTS_PER_STATEMENT), manager)));
    return written;
  }
}
