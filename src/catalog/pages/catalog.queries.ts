import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { EntryType } from '../../documents/entry-types.js';
import type { ListRequest } from './list-request.js';
import { NameWalk } from './name-walk.js';
import type { Reading, Standing } from './snapshot-check.js';
import { Statement } from './view-sql.js';
import { picksOf, pickVersions } from './index-scan.js';
import { isVersion, type MaybeVersion, VERSION_COLUMNS, type VersionRow } from './version-row.js';

export type { VersionRow } from './version-row.js';

/** Names a plain list passes over for each version it shows: some have only versions that were deleted. */
const PLAIN = 1.25;
/** The same for a list that may find little. */
const CHOOSY = 4;
/** Versions looked at in an index at first. */
const FEW = 512;
/** How much more is tried, on either way, each time neither led to the end. */
const FURTHER = 8;

/** SQL of the consumer API. All of it filters by the ids of a view and none of it knows claims. */
@Injectable()
export class CatalogQueries {
  constructor(private readonly dataSource: DataSource) {}

  /**
   * Up to `limit + 1` versions in page order (name bytewise, newest first): one more than asked tells of a next page.
   *
   * What passes a filter is found by walking the names, fast when it is frequent, or by its index, fast when it is rare.
   * Nobody has to know which: each is tried for a while in turns, so the answer takes little longer than by the better one.
   */
  async page(reading: Reading, type: EntryType, request: ListRequest): Promise<VersionRow[]> {
    if (reading.view.partitions.length === 0) return this.nothing(reading);
    const picks = picksOf(request.filter);
    const { search, updatedSince, version, status } = request.filter;
    const isPlain = !search && !updatedSince && !status && (version === undefined || version === 'latest');
    const walk = new NameWalk(this.dataSource, reading, type, request);
    const picked = async (isOrdered: boolean, most: number) => {
      for (const pick of picks.filter((way) => way.isOrdered === isOrdered)) {
        const rows = await pickVersions(this.dataSource, reading, type, request, pick, most);
        if (rows) return rows;
      }
      return undefined;
    };
    for (let effort = 1; ; effort *= FURTHER) {
      const early = await picked(true, FEW * effort);
      if (early) return early;
      await walk.goOn(Math.ceil((request.limit + 1) * (isPlain ? PLAIN : CHOOSY)) * effort);
      if (walk.isDone) return walk.found;
      const late = await picked(false, FEW * effort);
      if (late) return late;
    }
  }

  /** Every version of one name, newest first, from the first source whose entry is in the view. */
  async versions(
    reading: Reading,
    type: EntryType,
    name: string,
    includeDeleted: boolean,
  ): Promise<VersionRow[]> {
    return this.ofName(reading, type, name, () => (includeDeleted ? 'true' : `v.status <> 'deleted'`));
  }

  /** One version of one name, or its latest. */
  async findVersion(
    reading: Reading,
    type: EntryType,
    name: string,
    version: string,
  ): Promise<VersionRow | undefined> {
    const rows = await this.ofName(reading, type, name, (statement) =>
      version === 'latest' ? 'v.is_latest' : `v.version = ${statement.add(version)}`,
    );
    return rows[0];
  }

  /** Whether the view holds this name at all. */
  async has(reading: Reading, type: EntryType, name: string): Promise<boolean> {
    return (await this.findVersion(reading, type, name, 'latest')) !== undefined;
  }

  private async ofName(
    reading: Reading,
    type: EntryType,
    name: string,
    condition: (statement: Statement) => string,
  ): Promise<VersionRow[]> {
    if (reading.view.partitions.length === 0) return this.nothing(reading);
    const statement = new Statement(reading.view);
    const rows = await this.dataSource.query<(MaybeVersion & Standing)[]>(
      `with ${statement.ranked()},
       found as materialized (
         select e.id, e.name from ranked r cross join lateral (
           select e.id, e.name from entry e
           where e.source_id = r.source_id and ${statement.type('e', type)} and e.name = ${statement.add(name)}
             and ${statement.visible('e')} offset 0
         ) e
         order by r.rank limit 1
       )
       select ${statement.stands()} as stands, shown.* from (select) once left join (
         select found.name, ${VERSION_COLUMNS} from found join entry_version v on v.entry_id = found.id
         where ${condition(statement)}
       ) shown on true order by shown.key desc`,
      statement.values,
    );
    return reading.noted(rows).filter(isVersion);
  }

  // Nothing to be seen is an answer like any other, and may be out of date like any other.
  private async nothing(reading: Reading): Promise<[]> {
    const statement = new Statement(reading.view);
    const sql = `select ${statement.stands()} as stands`;
    reading.noted(await this.dataSource.query<Standing[]>(sql, statement.values));
    return [];
  }
}
