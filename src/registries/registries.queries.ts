import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { Claims } from '../claims/claims.js';
import { lockForChange } from '../database/locks.js';
import { isStorable } from '../database/storable.js';
import { Prepared } from '../database/prepared.js';
import type { Origin } from '../sources/source.entity.js';
import { DATABASE_EPOCH, REVISIONS } from '../views/revisions.js';

/** A source of a registry, in its place. */
export interface RegistrySourceRow {
  readonly id: number;
  readonly name: string;
  /** Moves with every change of the source's entries. */
  readonly revision: string;
}

export interface RegistryRow {
  readonly id: number;
  readonly name: string;
  readonly claims: Claims;
  readonly origin: Origin;
  /** In the registry's order. */
  readonly sources: readonly RegistrySourceRow[];
  /** Which run of PostgreSQL has answered, with which tables: ids mean what they do within it. */
  readonly databaseEpoch: string;
  /** That, and the sources with their revisions: equal as long as none of their entries, nor their order, has changed. */
  readonly revisions: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

@Injectable()
export class RegistriesQueries {
  private readonly prepared: Prepared;

  constructor(private readonly dataSource: DataSource) {
    this.prepared = new Prepared(dataSource);
  }

  async findByName(
    name: string,
    manager: EntityManager = this.dataSource.manager,
  ): Promise<RegistryRow | undefined> {
    if (!isStorable(name)) return undefined;
    const [row] = await manager.query<RegistryRow[]>(registries('where r.name = $1'), [name]);
    return row;
  }

  /** Those of these names that there are. */
  async findByNames(names: readonly string[]): Promise<Map<string, RegistryRow>> {
    const rows = await this.prepared.query<RegistryRow[]>(registries('where r.name = any($1)'), [names]);
    return new Map(rows.map((row) => [row.name, row]));
  }

  /** The same as findByName, and nobody else changes the registry until the transaction ends. */
  async lockByName(name: string, manager: EntityManager): Promise<RegistryRow | undefined> {
    await lockForChange(manager, 'registry', name);
    await manager.query(`select 1 from registry where name = $1 for update`, [name]);
    return this.findByName(name, manager);
  }

  /** Every registry: those of the configuration in its order, then those made through the API by age. */
  async all(): Promise<RegistryRow[]> {
    return this.dataSource.query<RegistryRow[]>(registries(''));
  }

  /** The claims of the sources that bear one of these names. */
  async sourceClaims(names: readonly string[], manager: EntityManager): Promise<Map<string, Claims>> {
    const rows = await manager.query<{ name: string; claims: Claims }[]>(
      `select s.name, c.claims from source s join claim_set c on c.id = s.claim_set_id
       where s.name = any($1::text[]) for share of s`,
      [names],
    );
    return new Map(rows.map(({ name, claims }) => [name, claims]));
  }

  async remove(registryId: number, manager: EntityManager): Promise<void> {
    await manager.query(`delete from registry where id = $1`, [registryId]);
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

/** SQL of `RegistryRow`s. */
function registries(condition: string): string {
  return `select r.id, r.name, ${DATABASE_EPOCH} as databaseEpoch, c.claims, r.origin, r.created_at as "createdAt", r.updated_at as "updatedAt",
      coalesce(held.sources, '[]') as sources, held.revisions
    from registry r join claim_set c on c.id = r.claim_set_id
    cross join lateral (
      select json_agg(json_build_object('id', s.id, 'name', s.name, 'revision', s.revision::text) order by p.place) as sources,
        ${REVISIONS} as revisions
      from (select source_id, position as place from registry_source where registry_id = r.id) p
      join source s on s.id = p.source_id
    ) held
    ${condition} order by r.origin = 'api', r.position, r.id`;
}
