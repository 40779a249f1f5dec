import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { View } from '../authz/view.js';
import type { EntryType } from '../entries/entry-types.js';
import type { ListFilter, ListRequest } from './list-request.js';

/** A stored version as the consumer API shows it. Dates are RFC 3339 in UTC already. */
export interface VersionRow {
  readonly name: string;
  readonly version: string;
  readonly key: string;
  readonly document: string;
  readonly status: string;
  readonly statusMessage: string | null;
  readonly statusChangedAt: string;
  readonly publishedAt: string;
  readonly updatedAt: string;
  readonly isLatest: boolean;
}

const utc = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const VERSION_COLUMNS = `
  v.version, v.version_key as key, v.document, v.status, v.status_message as "statusMessage",
  ${utc('v.status_changed_at')} as "statusChangedAt", ${utc('v.published_at')} as "publishedAt",
  ${utc('v.updated_at')} as "updatedAt", v.is_latest as "isLatest"`;

// The view as rows: one per partition, and one per source with its rank in the registry.
const VIEW = `
  part as materialized (
    select * from unnest($1::int[], $2::int[], $3::int[]) as p(source_id, claim_set_id, rank)
  ),
  ranked as materialized (select distinct source_id, rank from part)`;

/**
 * A view of more partitions is read source by source in name order, each entry's claim set tested against all that are
 * visible: beginning a scan per partition would cost more than passing over the entries that are not in the view.
 */
const MANY_PARTITIONS = 40;

// Which claim sets are visible does not depend on the source, so their ids alone will do.
const VISIBLE = (entry: string) => `${entry}.claim_set_id = any($2::int[])`;

// Visibility first, then shadowing (contract §6): an earlier source counts only with an entry the caller sees.
const NOT_SHADOWED = (rank: string) => `
  not exists (
    select 1 from ranked r join entry h on h.source_id = r.source_id and h.type = $4 and h.name = e.name
    where r.rank < ${rank} and ${VISIBLE('h')}
  )`;

/** SQL of the consumer API. All of it filters by the ids of a view and none of it knows claims. */
@Injectable()
export class CatalogQueries {
  constructor(private readonly dataSource: DataSource) {}

  /** Up to `limit + 1` versions in page order (name bytewise, newest first): one more than asked tells of a next page. */
  async page(view: View, type: EntryType, request: ListRequest): Promise<VersionRow[]> {
    if (view.partitions.length === 0) return [];
    const parameters = new Parameters(view, type);
    const { filter } = request;
    // Searches and changes pick few versions of many: begin at their own index. Everything else walks the names.
    const picks = filter.search !== undefined || filter.updatedSince !== undefined;
    const bySource = view.partitions.length > MANY_PARTITIONS;
    const sql = picks ? pickedVersions(parameters, request) : walkedVersions(parameters, request, bySource);
    return this.dataSource.query<VersionRow[]>(sql, parameters.values);
  }

  /** Every version of one name, newest first, from the first source whose entry is in the view. */
  async versions(view: View, type: EntryType, name: string, includeDeleted: boolean): Promise<VersionRow[]> {
    return this.ofName(view, type, name, includeDeleted ? 'true' : `v.status <> 'deleted'`, []);
  }

  /** One version of one name, or its latest. */
  async findVersion(
    view: View,
    type: EntryType,
    name: string,
    version: string,
  ): Promise<VersionRow | undefined> {
    const rows =
      version === 'latest'
        ? await this.ofName(view, type, name, 'v.is_latest', [])
        : await this.ofName(view, type, name, 'v.version = $6', [version]);
    return rows[0];
  }

  /** Whether the view holds this name at all. */
  async has(view: View, type: EntryType, name: string): Promise<boolean> {
    return (await this.findVersion(view, type, name, 'latest')) !== undefined;
  }

  private async ofName(
    view: View,
    type: EntryType,
    name: string,
    condition: string,
    more: string[],
  ): Promise<VersionRow[]> {
    if (view.partitions.length === 0) return [];
    const parameters = new Parameters(view, type);
    return this.dataSource.query<VersionRow[]>(
      `with ${VIEW},
       found as (
         select e.id, e.name from ranked r join entry e on e.source_id = r.source_id and e.type = $4 and e.name = $5
         where ${VISIBLE('e')}
         order by r.rank limit 1
       )
       select found.name, ${VERSION_COLUMNS} from found join entry_version v on v.entry_id = found.id
       where ${condition} order by v.version_key desc`,
      [...parameters.values, name, ...more],
    );
  }
}

// A merge of the partitions, or of the sources, each read in name order from its index and none further than the page
// reaches.
function walkedVersions(
  parameters: Parameters,
  { filter, limit, after }: ListRequest,
  bySource: boolean,
): string {
  const shown = versionConditions(parameters, filter);
  const rows = parameters.add(limit + 1);
  const from = after && { name: parameters.add(after.name), key: parameters.add(after.key) };
  return `with ${VIEW},
    names as materialized (
      select near.id, near.name from ${bySource ? 'ranked' : 'part'} p cross join lateral (
        select e.id, e.name from entry e
        where e.source_id = p.source_id and e.type = $4
          and ${bySource ? VISIBLE('e') : 'e.claim_set_id = p.claim_set_id'}
          ${from ? `and e.name >= ${from.name}` : ''}
          and exists (
            select 1 from entry_version v where v.entry_id = e.id and ${shown}
            ${from ? `and (e.name > ${from.name} or v.version_key < ${from.key})` : ''}
          )
          and ${NOT_SHADOWED('p.rank')}
        order by e.name limit ${rows}
      ) near order by near.name limit ${rows}
    )
    select n.name, ${VERSION_COLUMNS} from names n cross join lateral (
      select * from entry_version v where v.entry_id = n.id and ${shown}
      ${from ? `and (n.name > ${from.name} or v.version_key < ${from.key})` : ''}
      order by v.version_key desc limit ${rows}
    ) v order by n.name, v.version_key desc limit ${rows}`;
}

function pickedVersions(parameters: Parameters, { filter, limit, after }: ListRequest): string {
  const shown = versionConditions(parameters, filter);
  const rows = parameters.add(limit + 1);
  const from = after && { name: parameters.add(after.name), key: parameters.add(after.key) };
  return `with ${VIEW}
    select e.name, ${VERSION_COLUMNS} from entry_version v
    join entry e on e.id = v.entry_id and e.type = $4
    join part p on p.source_id = e.source_id and p.claim_set_id = e.claim_set_id
    where ${shown}
      ${from ? `and e.name >= ${from.name} and (e.name > ${from.name} or v.version_key < ${from.key})` : ''}
      and ${NOT_SHADOWED('p.rank')}
    order by e.name, v.version_key desc limit ${rows}`;
}

function versionConditions(parameters: Parameters, filter: ListFilter): string {
  const conditions: string[] = [];
  if (!filter.includeDeleted) conditions.push(`v.status <> 'deleted'`);
  if (filter.version === 'latest') conditions.push('v.is_latest');
  else if (filter.version !== undefined) conditions.push(`v.version = ${parameters.add(filter.version)}`);
  if (filter.status !== undefined) conditions.push(`v.status = ${parameters.add(filter.status)}`);
  if (filter.updatedSince !== undefined)
    conditions.push(`v.updated_at >= ${parameters.add(filter.updatedSince)}::timestamptz`);
  if (filter.search !== undefined)
    conditions.push(`v.search like ${parameters.add(`%${filter.search.replaceAll(/[\\%_]/g, '\\$&')}%`)}`);
  return conditions.length > 0 ? conditions.join(' and ') : 'true';
}

/** The values of one statement: the view in $1 to $3, the type in $4, then what is added. */
class Parameters {
  readonly values: unknown[];

  constructor(view: View, type: EntryType) {
    const ranks = new Map<number, number>();
    for (const { sourceId } of view.partitions) if (!ranks.has(sourceId)) ranks.set(sourceId, ranks.size);
    this.values = [
      view.partitions.map((partition) => partition.sourceId),
      view.partitions.map((partition) => partition.claimSetId),
      view.partitions.map((partition) => ranks.get(partition.sourceId)),
      type,
    ];
  }

  add(value: unknown): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }
}
