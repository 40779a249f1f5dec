import type { DataSource } from 'typeorm';
import type { EntryType } from '../../documents/entry-types.js';
import type { ListRequest, Position } from './list-request.js';
import type { Reading, Standing } from './snapshot-check.js';
import { Statement } from './view-sql.js';
import { isVersion, type MaybeVersion, VERSION_COLUMNS, type VersionRow } from './version-row.js';

/**
 * A view of more partitions is read source by source in name order, each entry's claim set tested against all that are
 * visible: beginning a scan per partition would cost more than passing over the entries that are not in the view.
 */
const MANY_PARTITIONS = 40;
/** A view that holds less than this of what is passed over is read by partition after all. */
const TOO_SPARSE = 1 / 8;
/** Entries read of one partition, however many there are, if so many are wanted. */
const A_PARTITION = 64;

/** A version that was found, or nulls, beside how the stretch went. */
type Stretch = MaybeVersion &
  Standing & {
    /** The last name this stretch has dealt with; null when there are no more. */
    readonly reached: string | null;
    /** How much of what was read is in the view. */
    readonly share: number | null;
  };

/**
 * Reads the names of a view in order, the merge of its partitions or of its sources, stretch by stretch, and keeps the
 * versions that pass the filter. What it reads depends on how many of the names have such versions, and not on how many
 * names there are.
 */
export class NameWalk {
  /** In the order of the list, never more than the page and the one after it. */
  readonly found: VersionRow[] = [];
  private at: Position | null;
  private isOver = false;

  constructor(
    private readonly dataSource: DataSource,
    private readonly reading: Reading,
    private readonly type: EntryType,
    private readonly request: ListRequest,
    private bySource = reading.view.partitions.length > MANY_PARTITIONS,
  ) {
    this.at = request.after;
  }

  /** Whether `found` is the whole answer. */
  get isDone(): boolean {
    return this.isOver || this.found.length > this.request.limit;
  }

  /** Goes on over so many names, at least two, or until the page is full. */
  async goOn(names: number): Promise<void> {
    const statement = new Statement(this.reading.view);
    const sql = this.stretch(statement, names);
    const rows = this.reading.noted(await this.dataSource.query<Stretch[]>(sql, statement.values));
    const [first] = rows;
    this.found.push(...rows.filter(isVersion));
    this.isOver = !first || first.reached === null;
    if (first?.reached) this.at = { name: first.reached, key: '' };
    if ((first?.share ?? 1) < TOO_SPARSE) this.bySource = false;
  }

  // From each partition the next names: as long as one of them has more, only names up to the first of their ends are
  // known to be complete. All entries of one name are among those, so the first of them in the order of the registry
  // shadows the others, and what is not visible was never there (contract §6).
  private stretch(statement: Statement, names: number): string {
    const { filter, limit } = this.request;
    const left = statement.add(limit + 1 - this.found.length);
    const wanted = statement.add(names);
    const depth = statement.add(this.depth(names));
    const within = this.bySource ? 'true' : 'e.claim_set_id = p.claim_set_id';
    const visible = this.bySource ? statement.visible('e') : 'true';
    return `with ${this.bySource ? statement.ranked() : statement.partitions()},
      near as materialized (
        select p.source_id, ${this.bySource ? 0 : 'p.claim_set_id'} as part, p.rank, e.id, e.name, ${visible} as visible
        from ${this.bySource ? 'ranked' : 'part'} p cross join lateral (
          select e.id, e.name, e.claim_set_id from entry e
          where e.source_id = p.source_id and ${statement.type('e', this.type)} and ${within} and ${statement.from(this.at, 'e.name')}
          order by e.name limit ${depth}
        ) e
      ),
      complete as materialized (
        select min(last) as until from (
          select max(name) as last from near group by source_id, part having count(*) = ${depth}
        ) ends
      ),
      names as materialized (
        select distinct on (name) id, name from near
        where visible and ((select until from complete) is null or name <= (select until from complete))
        order by name, rank limit ${wanted}
      ),
      place as (
        select case when (select count(*) from names) = ${wanted} then (select max(name) from names)
          else (select until from complete) end as reached,
          (select avg(visible::int)::float8 from near) as share
      )
      select ${statement.stands()} as stands, place.reached, place.share, shown.* from place left join (
        select n.name, ${VERSION_COLUMNS} from names n cross join lateral (
          select * from ${statement.versionsOf('n.id', filter)}
            and ${statement.after(this.at, 'n.name', 'v.version_key')}
          order by v.version_key desc limit ${left}
        ) v order by n.name, v.version_key desc limit ${left}
      ) shown on true order by shown.name, shown.key desc`;
  }

  // Partitions are read twice as far as they would have to be if they were all alike, and far enough that a page which
  // lies in one of them is found soon. Two at least: the first may be the one that was reached before.
  private depth(names: number): number {
    if (this.bySource) return names;
    const evenly = Math.ceil((2 * names) / this.reading.view.partitions.length);
    return Math.max(2, Math.min(names, Math.max(evenly, Math.min(Math.ceil(names / 4), A_PARTITION))));
  }
}
