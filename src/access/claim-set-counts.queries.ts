import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Claims } from '../claims/claims.js';
import { type EntryType, ENTRY_TYPE_NAMES } from '../documents/entry-types.js';
import type { View } from '../views/view.js';

/** Claims that entries carry, and how many do. */
export interface ClaimSetCount {
  readonly claims: Claims;
  readonly count: number;
}

const VISIBLE = `select distinct on (e.type, e.name) e.id, e.type
  from unnest($1::int[], $2::int[], $3::int[]) v(source_id, claim_set_id, rank)
  join entry e on e.source_id = v.source_id and e.claim_set_id = v.claim_set_id
  order by e.type, e.name, v.rank`;
const ALL = `select distinct on (e.type, e.name) e.id, e.type
  from unnest($1::int[]) with ordinality v(source_id, rank)
  join entry e on e.source_id = v.source_id
  order by e.type, e.name, v.rank`;

/** Counts entries by what they show to whom. */
@Injectable()
export class ClaimSetCounts {
  constructor(private readonly dataSource: DataSource) {}

  /** The claims that the entries of these sources carry, those of most entries first. */
  async ofSources(sourceIds: readonly number[], limit: number): Promise<ClaimSetCount[]> {
    return this.dataSource.query<ClaimSetCount[]>(
      `select c.claims, n.count from (
         select e.claim_set_id, count(*)::int as count from entry e
         where e.source_id = any($1::int[]) and e.type = any($2::text[])
         group by e.claim_set_id
       ) n join claim_set c on c.id = n.claim_set_id
       order by n.count desc, c.id limit $3`,
      [sourceIds, ENTRY_TYPE_NAMES, limit],
    );
  }

  /** How many names of each type a view shows, without those whose versions are deleted. */
  async ofView({ seesAll, sourceIds, visible }: View): Promise<Readonly<Record<EntryType, number>>> {
    const partitions = visible.flatMap(({ sourceId, claimSetIds }, rank) =>
      claimSetIds.map((claimSetId) => ({ sourceId, claimSetId, rank })),
    );
    const rows = await this.dataSource.query<{ type: EntryType; count: number }[]>(
      `select shown.type, count(*)::int as count from (${seesAll ? ALL : VISIBLE}) shown
       join entry_version v on v.entry_id = shown.id and v.is_latest and v.status <> 'deleted'
       group by shown.type`,
      seesAll
        ? [sourceIds]
        : [
            partitions.map(({ sourceId }) => sourceId),
            partitions.map(({ claimSetId }) => claimSetId),
            partitions.map(({ rank }) => rank),
          ],
    );
    const counts = new Map(rows.map(({ type, count }) => [type, count]));
    return Object.fromEntries(ENTRY_TYPE_NAMES.map((type) => [type, counts.get(type) ?? 0])) as Record<
      EntryType,
      number
    >;
  }
}
