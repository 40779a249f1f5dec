import type { LRUCache } from 'lru-cache';
import type { StatementRunner } from '../database/search-pool.js';
import { utcText } from '../database/sql-expressions.js';
import { roundestBetween } from '../http/lists.js';
import { pauseIfDue } from '../limits/time-slice.js';
import type { AuditScope } from './audit-event.js';

/** The filters of a list; an event must match all of them. */
export interface EventConditions {
  readonly action?: string;
  /** A subject, or a name shown to people. */
  readonly actor?: string;
  readonly subject?: string;
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

/** Each has an index that can drive a walk; the most selective comes first. Few events match any of the first three. */
const FILTERS = ['target', 'subject', 'actor', 'action', 'outcome'] as const;
type Filter = (typeof FILTERS)[number];
const SELECTIVE = FILTERS.slice(0, 3);

/** @param value Number of the parameter. */
function matches(filter: Filter, value: number): string {
  switch (filter) {
    case 'actor':
      return `(actor = $${value} or actor_name = $${value})`;
    case 'subject':
      return `actor = $${value}`;
    default:
      return `${filter} = $${value}`;
  }
}

/**
 * Returns a statement that selects the newest events.
 *
 * @param actor Number of the parameter of the filter `actor` if an index should serve it. An index returns the events
 *   of a subject, or of a name, in order, but not of both.
 * @param limit Number of the parameter.
 */
function newest(columns: string, where: string, actor: number | undefined, limit: number): string {
  const some = (whose = 'true') =>
    `(select ${columns} from audit_event where ${where} and ${whose} order by id desc limit $${limit})`;
  if (actor === undefined) return some();
  const named = `actor_name = $${actor} and actor is distinct from $${actor}`;
  return `(select * from (${some(`actor = $${actor}`)} union all ${some(named)}) as two order by id desc limit $${limit})`;
}

/** Number of events examined per step of a walk. */
const SLICE = 2_000;
/** Number of scopes read per statement. Each scope may be large. */
const SCOPES_AT_A_TIME = 200;
/** If there are more scopes, or the viewer sees more of them, a walk reads the events of all scopes. */
const MAX_SCOPES = 5_000;
const MAX_SEEN_SCOPES = 50;

/** The maximum numbers of events and characters; the last event may exceed the limit on characters. */
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

/** Runs statements on a connection that is held only during `read`. */
export type StatementRun = <T>(read: (statements: StatementRunner) => Promise<T>) => Promise<T>;

export interface WalkedEvents {
  readonly rows: readonly EventRow[];
  /** Where to continue if the walk ended at its deadline: a position, not the ID of an event. */
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
  const { from, before, actor } = conditions;
  const values: unknown[] = [from, before];
  const whose = actor === undefined ? undefined : values.push(actor);
  const filters = FILTERS.filter((filter) => filter !== 'actor' && conditions[filter] !== undefined).map(
    (filter) => `and ${matches(filter, values.push(conditions[filter]))}`,
  );
  const where = `id >= $1::uuid and id < $2::uuid ${filters.join(' ')}`;
  return readEvents(statements, { where, actor: whose, values }, most);
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
  const isSelective = SELECTIVE.some((filter) => conditions[filter] !== undefined);
  const scopes = isSelective ? null : await run((statements) => seenScopes(statements, viewer));
  for (let { before } = conditions; ;) {
    const { slice, size, found } = await run(async (statements) => {
      const limit = scopes ? Math.max(left.events, Math.floor(SLICE / (scopes.length + 1))) : SLICE;
      const walked = await readSlice(statements, { ...conditions, before }, scopes, limit);
      const visible = await visibleIn(statements, walked, viewer);
      const ids = visible.slice(0, left.events);
      return {
        slice: walked,
        size: limit,
        found: await readEvents(statements, { where: 'id = any($1::uuid[])', values: [ids] }, left),
      };
    });
    rows.push(...found);
    const characters = found.reduce((sum, { event }) => sum + event.length, 0);
    left = { events: left.events - found.length, characters: left.characters - characters };
    const last = slice.at(-1);
    if (left.events <= 0 || left.characters <= 0 || !last || slice.length < size) return { rows };
    if (performance.now() >= deadline) {
      const reached = positionBetween(last.id, before);
      return { rows: rows.filter(({ id }) => id >= reached), reached };
    }
    before = last.id;
  }
}

function positionBetween(low: string, high: string): string {
  const digits = (id: string) => id.replaceAll('-', '');
  return roundestBetween(digits(low), digits(high)).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** Selects the scopes after this one. Skips through an index from scope to scope, so the cost does not depend on the number of events. */
const NEXT_SCOPES = `
with recursive scopes (digest, place) as (
  (select scope_digest, 1 from audit_event where scope_digest > decode($1, 'base64') order by scope_digest limit 1)
  union all
  select (select scope_digest from audit_event where scope_digest > s.digest order by scope_digest limit 1), s.place + 1
  from scopes s where s.digest is not null and s.place < ${SCOPES_AT_A_TIME}
)
select encode(digest, 'base64') as digest,
  (select scope from audit_event where scope_digest = digest order by id limit 1) as scope
from scopes where digest is not null order by place`;

/** Returns the digests of the scopes that the viewer sees; null if there are too many. */
async function seenScopes(statements: StatementRunner, viewer: EventViewer): Promise<string[] | null> {
  const seen: string[] = [];
  for (let [after, count] = ['', 0]; count < MAX_SCOPES && seen.length <= MAX_SEEN_SCOPES;) {
    const scopes = await judge(statements, viewer, NEXT_SCOPES, [after]);
    seen.push(...scopes.map(({ digest }) => digest).filter((digest) => viewer.judged.get(digest)));
    if (scopes.length < SCOPES_AT_A_TIME) return seen.length <= MAX_SEEN_SCOPES ? seen : null;
    after = scopes.at(-1)?.digest ?? '';
    count += scopes.length;
  }
  return null;
}

interface ScopeRow {
  readonly digest: string;
  readonly scope: AuditScope;
}

/** Reads scopes and decides which of them the viewer sees. */
async function judge(
  statements: StatementRunner,
  { sees, judged }: EventViewer,
  select: string,
  values: unknown[],
): Promise<ScopeRow[]> {
  const scopes = await statements.query<ScopeRow[]>(select, values);
  for (const { digest, scope } of scopes) {
    await pauseIfDue();
    judged.set(digest, sees(scope));
  }
  return scopes;
}

// The inner condition uses an index, so a slice reads at most `limit` events (`limit` of each scope, if there are any),
// regardless of the other filters.
async function readSlice(
  statements: StatementRunner,
  conditions: EventConditions,
  scopes: readonly string[] | null,
  limit: number,
): Promise<SliceRow[]> {
  const values: unknown[] = [conditions.from, conditions.before, limit];
  const leading = scopes ? undefined : FILTERS.find((filter) => conditions[filter] !== undefined);
  const condition = (filter: Filter) => matches(filter, values.push(conditions[filter]));
  const walked = leading ? condition(leading) : 'true';
  const actor = leading === 'actor' ? values.length : undefined;
  const others = FILTERS.filter((filter) => filter !== leading && conditions[filter] !== undefined);
  const matching = ['true', ...others.map(condition)].join(' and ');
  const columns = `id, case when ${matching} then encode(scope_digest, 'base64') end as digest`;
  const range = 'id >= $1::uuid and id < $2::uuid';
  const ofScope = newest(columns, `scope_digest = decode(seen.digest, 'base64') and ${range}`, undefined, 3);
  const slice = scopes
    ? `select events.* from unnest($${values.push(scopes)}::text[]) as seen(digest) cross join lateral ${ofScope} events
       order by events.id desc limit $3`
    : newest(columns, `${range} and ${walked}`, actor, 3);
  return statements.query<SliceRow[]>(slice, values);
}

/** Returns the IDs of the events that the viewer sees. */
async function visibleIn(
  statements: StatementRunner,
  slice: readonly SliceRow[],
  viewer: EventViewer,
): Promise<string[]> {
  const { judged } = viewer;
  const unknown = new Map<string, string>();
  for (const { id, digest } of slice)
    if (digest !== null && judged.get(digest) === undefined) unknown.set(digest, id);
  const ids = [...unknown.values()];
  // Runs even without unknown scopes, so that its duration does not reveal that a hidden event matches.
  const select = `select encode(scope_digest, 'base64') as digest, scope from audit_event where id = any($1::uuid[])`;
  do await judge(statements, viewer, select, [ids.splice(0, SCOPES_AT_A_TIME)]);
  while (ids.length > 0);
  return slice.filter(({ digest }) => digest !== null && judged.get(digest) === true).map(({ id }) => id);
}

async function readEvents(
  statements: StatementRunner,
  read: { readonly where: string; readonly actor?: number | undefined; readonly values: readonly unknown[] },
  most: MostEvents,
): Promise<EventRow[]> {
  const values = [...read.values, most.events, most.characters];
  const found = newest('id, time, dropped, event::text as event', read.where, read.actor, values.length - 1);
  return statements.query<EventRow[]>(
    `with found as ${found},
     measured as (select *, sum(length(event)) over (order by id desc) - length(event) as before from found)
     select id, ${utcText('time')} as time, dropped, event from measured where before < $${values.length} order by id desc`,
    values,
  );
}
