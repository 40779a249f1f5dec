import type { DataSource } from 'typeorm';
import type { EntryType } from '../../documents/entry-types.js';
import type { ListFilter, ListRequest } from './list-request.js';
import type { Reading, Standing } from './snapshot-check.js';
import { patternOf, Statement } from './view-sql.js';
import { isVersion, type MaybeVersion, VERSION_COLUMNS, type VersionRow } from './version-row.js';

/** A part of the filter with an index of its own. */
export interface Pick {
  /**
   * Whether the index is read in order and no further than asked. The trigram index is not: it finds all there is to find,
   * rows or not.
   */
  readonly isOrdered: boolean;
  readonly column: 'updated_at' | 'version' | 'status' | 'search';
  /** The rest of a statement that reads candidates, as `v`, from this index. */
  candidates(statement: Statement): string;
  /** Whether a candidate is still one that was meant. */
  meant(statement: Statement): string;
}

// The order makes the index the only way that needs no sorting of a third of the table, which is how much the planner
// takes an inequality with a hidden value for. What was asked for comes first.
const exactly = (column: 'version' | 'status', value: string, more = 'true'): Pick => ({
  isOrdered: true,
  column,
  candidates: (statement) =>
    `v.${column} >= ${statement.hidden(value, 'text')} and ${more} order by v.${column}`,
  meant: (statement) => `v.${column} = ${statement.hidden(value, 'text')}`,
});

/** The ways to begin at an index for what this filter asks. */
export function picksOf({ updatedSince, version, status, search }: ListFilter): Pick[] {
  const picks: Pick[] = [];
  if (updatedSince !== undefined)
    picks.push({
      isOrdered: true,
      column: 'updated_at',
      candidates: (statement) =>
        `v.updated_at >= ${statement.hidden(updatedSince, 'timestamptz')} order by v.updated_at`,
      meant: () => 'true',
    });
  if (version !== undefined && version !== 'latest') picks.push(exactly('version', version));
  if (status !== undefined && status !== 'active')
    picks.push(exactly('status', status, `v.status <> 'active'`));
  if (search !== undefined && hasTrigram(search))
    picks.push({
      isOrdered: false,
      column: 'search',
      candidates: (statement) => `v.search like ${statement.add(patternOf(search))}`,
      meant: () => 'true',
    });
  return picks;
}

/** Whether the trigram index knows anything of this text: it does of three letters or digits in a row. */
export function hasTrigram(search: string): boolean {
  return /[\p{L}\p{N}]{3}/u.test(search);
}

/** A version that was found, or nulls, beside whether there were no more candidates than were looked at. */
type Picked = MaybeVersion & Standing & { readonly complete: boolean };

/**
 * The page of the versions that one index finds, in any order there, filtered by the view and sorted.
 *
 * @param most candidates that are looked at.
 * @returns undefined when the index has more of them.
 */
export async function pickVersions(
  dataSource: DataSource,
  reading: Reading,
  type: EntryType,
  request: ListRequest,
  pick: Pick,
  most: number,
): Promise<VersionRow[] | undefined> {
  const statement = new Statement(reading.view);
  const sql = pickingSql(statement, type, request, pick, most);
  const rows = reading.noted(await dataSource.query<Picked[]>(sql, statement.values));
  if (!rows[0]?.complete) return undefined;
  return rows.filter(isVersion);
}

// OFFSET 0 keeps each look-up what it is written as: by the index, once for each candidate. Visibility first, then
// shadowing (contract §6): an earlier source counts only with an entry the caller sees.
function pickingSql(
  statement: Statement,
  type: EntryType,
  { filter, limit, after }: ListRequest,
  pick: Pick,
  most: number,
): string {
  const rows = statement.add(limit + 1);
  const bound = statement.add(most);
  const candidates = pick.candidates(statement);
  const looked = `(
      select v.id, v.entry_id, v.version_key, ${statement.shown(filter)} as fits from entry_version v
      where ${candidates} limit ${bound} + 1
    ) c`;
  // What is read in order is counted first, in the index alone where that can be, and then no more than that is read.
  const found = pick.isOrdered
    ? `total as materialized (
        select count(*) as n, count(*) <= ${bound} as complete from (
          select v.${pick.column} from entry_version v where ${candidates} limit ${bound} + 1
        ) v where ${pick.meant(statement)}
      ),
      candidates as materialized (
        select * from ${looked} where (select complete from total) limit (select n from total)
      )`
    : `candidates as materialized (select * from ${looked}),
      total as materialized (select count(*) <= ${bound} as complete from candidates)`;
  return `with ${statement.ranked()}, ${found},
    hits as materialized (
      select e.name, c.version_key, c.id, r.rank from candidates c
      cross join lateral (
        select e.name, e.source_id, e.claim_set_id from entry e
        where e.id = c.entry_id and ${statement.type('e', type)} offset 0
      ) e
      join ranked r on r.source_id = e.source_id
      where (select complete from total) and c.fits and ${statement.visible('e')}
        and ${statement.from(after, 'e.name')}
        and ${statement.after(after, 'e.name', 'c.version_key')}
    ),
    shown as materialized (
      select s.name, s.version_key, s.id from (select * from hits order by name, version_key desc offset 0) s
      where not exists (
        select 1 from ranked r cross join lateral (
          select 1 from entry h where h.source_id = r.source_id and ${statement.type('h', type)} and h.name = s.name
            and ${statement.visible('h')} offset 0
        ) h where r.rank < s.rank offset 0
      )
      order by s.name, s.version_key desc limit ${rows}
    )
    select ${statement.stands()} as stands, total.complete, s.name, ${VERSION_COLUMNS} from total
    left join shown s on true left join entry_version v on v.id = s.id
    order by s.name, s.version_key desc`;
}
