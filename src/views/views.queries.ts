import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Claims } from '../claims/claims.js';
import { Prepared } from '../database/prepared.js';
import { DATABASE_EPOCH, REVISIONS } from './revisions.js';

/** A registry as consumers enter it, with the state of its sources. */
export interface RegistryState {
  readonly name: string;
  readonly claims: Claims;
  /** In the registry's order. */
  readonly sourceIds: readonly number[];
  /** Which run of PostgreSQL has answered, with which tables: ids mean what they do within it. */
  readonly databaseEpoch: string;
  /** That, and the sources with their revisions: equal as long as none of their entries, nor their order, has changed. */
  readonly revisions: string;
}

const REGISTRY_STATES = `
  select r.name, c.claims, ${DATABASE_EPOCH} as "databaseEpoch", held."sourceIds", held.revisions
  from registry r join claim_set c on c.id = r.claim_set_id
  cross join lateral (
    select coalesce(json_agg(s.id order by p.place), '[]') as "sourceIds", ${REVISIONS} as revisions
    from (select source_id, position as place from registry_source where registry_id = r.id) p
    join source s on s.id = p.source_id
  ) held
  where r.name = any($1)`;

/** What views are made of: registries with the revisions of their sources, partitions, claim sets. */
@Injectable()
export class ViewsQueries {
  private readonly prepared: Prepared;

  constructor(private readonly dataSource: DataSource) {
    this.prepared = new Prepared(dataSource);
  }

  /** The registries of these names that there are. */
  async registries(names: readonly string[]): Promise<Map<string, RegistryState>> {
    const rows = await this.prepared.query<RegistryState[]>(REGISTRY_STATES, [names]);
    return new Map(rows.map((row) => [row.name, row]));
  }

  /** How many partitions these sources have. None ever goes while its source is there, so an equal number is the same ones. */
  async partitionCounts(sourceIds: readonly number[]): Promise<Map<number, string>> {
    const rows = await this.prepared.query<{ sourceId: number; count: string }[]>(
      `select source_id as "sourceId", count(*) from source_partition where source_id = any($1::int[]) group by source_id`,
      [sourceIds],
    );
    return new Map(rows.map(({ sourceId, count }) => [sourceId, count]));
  }

  /** The claim sets that entries of these sources carry, in order of their ids; or carried once. */
  async partitions(sourceIds: readonly number[]): Promise<Map<number, readonly number[]>> {
    const rows = await this.dataSource.query<{ sourceId: number; claimSetIds: number[] }[]>(
      `select source_id as "sourceId", array_agg(claim_set_id order by claim_set_id) as "claimSetIds"
       from source_partition where source_id = any($1::int[]) group by source_id`,
      [sourceIds],
    );
    return new Map(rows.map(({ sourceId, claimSetIds }) => [sourceId, claimSetIds]));
  }

  /** What these claim sets ask for. */
  async claimsOf(claimSetIds: readonly number[]): Promise<Map<number, Claims>> {
    const rows = await this.dataSource.query<{ id: number; claims: Claims }[]>(
      `select id, claims from claim_set where id = any($1::int[])`,
      [claimSetIds],
    );
    return new Map(rows.map(({ id, claims }) => [id, claims]));
  }
}
