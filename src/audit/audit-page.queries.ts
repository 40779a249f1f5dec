import type { StatementRunner } from '../database/search-pool.js';
import { utcText } from '../database/statements.js';
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

/** A distinct scope of stored events. */
export interface KnownScope {
  readonly digest: Buffer;
  readonly scope: AuditScope;
}

const COLUMNS = ['action', 'actor', 'target', 'outcome'] as const;

/** Number of scopes read per statement. Each scope may be large. */
const SCOPES_AT_A_TIME = 200;
/** Sorts before every digest. */
const NO_DIGEST = Buffer.alloc(0);

/** Selects the distinct scopes after a digest, using an index skip scan. */
const SCOPES = `
with recursive known as (
  (select scope_digest, scope, 1 as place from audit_event where scope_digest > $1 order by scope_digest limit 1)
  union all
  select next.scope_digest, next.scope, known.place + 1
  from known cross join lateral (
    select scope_digest, scope from audit_event where scope_digest > known.scope_digest order by scope_digest limit 1
  ) next
  where known.place < $2
)
select scope_digest as digest, scope from known`;

/** Yields all distinct scopes in batches, because entry managers can create many large scopes. */
export async function* knownScopes(statements: StatementRunner): AsyncGenerator<KnownScope[]> {
  for (let after: Buffer | undefined = NO_DIGEST; after;) {
    const scopes: KnownScope[] = await statements.query<KnownScope[]>(SCOPES, [after, SCOPES_AT_A_TIME]);
    yield scopes;
    after = scopes.length < SCOPES_AT_A_TIME ? undefined : scopes.at(-1)?.digest;
  }
}

/**
 * Returns the newest events that match the conditions, newest first.
 *
 * @param scopes digests of the scopes to include; null for all events.
 * @param most the maximum numbers of events and of characters; the last event may exceed the limit on characters.
 */
export async function newestEvents(
  statements: StatementRunner,
  conditions: EventConditions,
  scopes: readonly Buffer[] | null,
  most: { readonly events: number; readonly characters: number },
): Promise<EventRow[]> {
  const values: unknown[] = [conditions.from, conditions.before, most.events, most.characters];
  const filters = COLUMNS.flatMap((column) => {
    const value = conditions[column];
    return value === undefined ? [] : [`and ${column} = $${values.push(value)}`];
  }).join(' ');
  const newest = `where id >= $1::uuid and id < $2::uuid ${filters}`;
  const found =
    scopes === null
      ? `select id, time, dropped, event::text as event from audit_event ${newest} order by id desc limit $3`
      : `select id, time, dropped, event::text as event from unnest($${values.push(scopes)}::bytea[]) as s(digest)
         cross join lateral (
           select * from audit_event ${newest} and scope_digest = s.digest order by id desc limit $3
         ) one
         order by id desc limit $3`;
  return statements.query<EventRow[]>(
    `with found as (${found}),
     measured as (select *, sum(length(event)) over (order by id desc) - length(event) as before from found)
     select id, ${utcText('time')} as time, dropped, event from measured where before < $4 order by id desc`,
    values,
  );
}
