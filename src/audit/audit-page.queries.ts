import type { LRUCache } from 'lru-cache';
import type { StatementRunner } from '../database/search-pool.js';
import { utcText } from '../database/statements.js';
import { TimeSlice } from '../json/time-slice.js';
import type { AuditScope } from './audit-event.js';

/** The filters of a list; an event must match all of them. */
export interface EventConditions {
  readonly action?: string;
  readonly actor?: string;
  readonly target?: string;
  readonly outcome?: string;
  /** The smallest ID, inclusive. */
  readonly from: string;
  /** The largest ID, exclusive. */
  readonly before: string;
}

export interface EventRow {
  readonly id: string;
  readonly time: string;
  readonly dropped: number | null;
  /** The other members, as JSON. */
  readonly event: string;
}

const COLUMNS = ['target', 'actor', 'action', 'outcome'] as const;
/** The columns whose index leads a walk, most selective first. */
const LEADING = ['target', 'actor', 'action'] as const;

/** Number of events examined per step of a walk. */
const SLICE = 2_000;
/** Number of scopes read per statement. Each scope may be large. */
const SCOPES_AT_A_TIME = 200;

/** The maximum numbers of events and of characters; the last event may exceed the limit on characters. */
export interface MostEvents {
  readonly events: number;
  readonly characters: number;
}

/** A caller who sees some of the events. */
export interface EventViewer {
  readonly sees: (scope: AuditScope) => boolean;
  /** Whether the caller sees a scope, by the digest of the scope. Must hold the scopes of one slice. */
  readonly judged: LRUCache<string, boolean>;
}

/** Runs statements on a connection that is taken for `read` only. */
export type StatementRun = <T>(read: (statements: StatementRunner) => Promise<T>) => Promise<T>;

export interface WalkedEvents {
  readonly rows: readonly EventRow[];
  /** Where to continue, if the walk ended at its deadline: a position, not the ID of an event. */
  readonly reached?: string;
}

interface SliceRow {
  readonly id: string;
  /** Null if no manager sees the event, or if it does not match the conditions. */
  readonly digest: string | null;
}

/** Returns the newest events that match the conditions, newest first, as super-admins see them. */
export async function newestEvents(
  statements: StatementRunner,
  conditions: EventConditions,
  most: MostEvents,
): Promise<EventRow[]> {
  const values: unknown[] = [conditions.from, conditions.before];
  const filters = COLUMNS.filter((column) => conditions[column] !== undefined).map(
    (column) => `and ${column} = $${values.push(conditions[column])}`,
  );
  return readEvents(statements, `id >= $1::uuid and id < $2::uuid ${filters.join(' ')}`, values, most);
}

/**
 * Walks the events that match the conditions, newest first, and returns those that the viewer sees. Stops at `most`, at
 * the last event, or after the first slice that ends later than `deadline` (on the `performance.now()` clock). Memory
 * does not depend on the number of events or scopes.
 */
export async function walkEvents(
  run: StatementRun,
  conditions: EventConditions,
  viewer: EventViewer,
  most: MostEvents,
  deadline: number,
): Promise<WalkedEvents> {
  const rows: EventRow[] = [];
  let left = most;
  for (let { before } = conditions; ;) {
    const { slice, found } = await run(async (statements) => {
      const walked = await readSlice(statements, { ...conditions, before });
      const visible = await visibleIn(statements, walked, viewer);
      const ids = visible.slice(0, left.events);
      return {
        slice: walked,
        found: await readEvents(statements, 'id = any($1::uuid[])', [ids], left),
      };
    });
    rows.push(...found);
    const characters = found.reduce((sum, { event }) => sum + event.length, 0);
    left = { events: left.events - found.length, characters: left.characters - characters };
    const last = slice.at(-1);
    if (left.events <= 0 || left.characters <= 0 || !last || slice.length < SLICE) return { rows };
    if (performance.now() >= deadline) {
      const reached = positionBetween(last.id, before);
      return { rows: rows.filter(({ id }) => id >= reached), reached };
    }
    before = last.id;
  }
}

/**
 * Returns the roundest position from `low` up to, but excluding, `high`: as a 128-bit number it ends in the most zeros.
 * A cursor with it reveals roughly how far the walk came, and no ID or time of an event that the caller may not see.
 */
function positionBetween(low: string, high: string): string {
  const before = (id: string) => BigInt(`0x${id.replaceAll('-', '')}`) - 1n;
  const zeros = BigInt((before(low) ^ before(high)).toString(2).length - 1);
  const hex = ((before(high) >> zeros) << zeros).toString(16).padStart(32, '0');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

// The inner condition is one that an index answers, so a slice reads at most SLICE events, whatever the other filters.
async function readSlice(statements: StatementRunner, conditions: EventConditions): Promise<SliceRow[]> {
  const values: unknown[] = [conditions.from, conditions.before, SLICE];
  const leading = LEADING.find((column) => conditions[column] !== undefined);
  const matches = (column: (typeof COLUMNS)[number]) => `${column} = $${values.push(conditions[column])}`;
  const walked = leading ? matches(leading) : 'scope_digest is not null';
  const others = COLUMNS.filter((column) => column !== leading && conditions[column] !== undefined);
  return statements.query<SliceRow[]>(
    `select id, case when ${['true', ...others.map(matches)].join(' and ')} then encode(scope_digest, 'base64') end as digest
     from audit_event where id >= $1::uuid and id < $2::uuid and ${walked} order by id desc limit $3`,
    values,
  );
}

/** Returns the IDs of the events that the viewer sees. */
async function visibleIn(
  statements: StatementRunner,
  slice: readonly SliceRow[],
  { sees, judged }: EventViewer,
): Promise<string[]> {
  const unknown = new Map<string, string>();
  for (const { id, digest } of slice)
    if (digest !== null && judged.get(digest) === undefined) unknown.set(digest, id);
  const ids = [...unknown.values()];
  const slices = new TimeSlice();
  // Runs even without unknown scopes, so that its duration does not reveal that a hidden event matches.
  do {
    const scopes = await statements.query<{ digest: string; scope: AuditScope }[]>(
      `select encode(scope_digest, 'base64') as digest, scope from audit_event where id = any($1::uuid[])`,
      [ids.splice(0, SCOPES_AT_A_TIME)],
    );
    for (const { digest, scope } of scopes) {
      await slices.pause();
      judged.set(digest, sees(scope));
    }
  } while (ids.length > 0);
  return slice.filter(({ digest }) => digest !== null && judged.get(digest) === true).map(({ id }) => id);
}

async function readEvents(
  statements: StatementRunner,
  condition: string,
  parameters: readonly unknown[],
  most: MostEvents,
): Promise<EventRow[]> {
  const values = [...parameters, most.events, most.characters];
  return statements.query<EventRow[]>(
    `with found as (
       select id, time, dropped, event::text as event from audit_event
       where ${condition} order by id desc limit $${values.length - 1}
     ),
     measured as (select *, sum(length(event)) over (order by id desc) - length(event) as before from found)
     select id, ${utcText('time')} as time, dropped, event from measured where before < $${values.length} order by id desc`,
    values,
  );
}
