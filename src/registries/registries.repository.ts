import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, Repository, type SelectQueryBuilder } from 'typeorm';
import type { Claims } from '../claims/claims.js';
import type { Origin } from '../config/config.js';
import { firstRows } from '../database/bulk.js';
import { lockCreation, lockForChange } from '../database/locks.js';
import { ON_PRIMARY } from '../database/sql-expressions.js';
import { MANAGED_KIND } from '../source-kinds/kinds.js';
import { isStorable } from '../validation/storable-text.js';
import { Registry, RegistrySource } from './registry.entity.js';

const ROW_COLUMNS = ['id', 'name', 'claimSetId', 'createdAt', 'updatedAt'] as const;

/** A registry without its settings and claims, which may be large. */
export type RegistryRow = Pick<Registry, (typeof ROW_COLUMNS)[number]>;

/** Loads registries with their claims and the names of their sources in order. */
@Injectable()
export class RegistriesRepository {
  constructor(@InjectRepository(Registry) private readonly registries: Repository<Registry>) {}

  /**
   * Returns all registries without their settings: in configuration order, followed by registries created through the
   * API, oldest first.
   */
  async rows(): Promise<RegistryRow[]> {
    return (
      this.registries
        .createQueryBuilder('registry')
        .select(ROW_COLUMNS.map((column) => `registry.${column}`))
        .where(ON_PRIMARY)
        // 'config' sorts before 'api'.
        .orderBy({ 'registry.origin': 'DESC', 'registry.position': 'ASC', 'registry.id': 'ASC' })
        .getMany()
    );
  }

  /** Returns the first of these registries, in order: up to 1 MiB in total, but at least one if any exists. */
  async loadFirst(rows: readonly RegistryRow[]): Promise<Registry[]> {
    const ids = rows.map(({ id }) => id);
    return withSources(
      this.select(this.registries.manager)
        .where(`registry.id in (${FIRST_REGISTRIES})`, { ids })
        .orderBy('array_position(:ids::int[], registry.id)'),
    );
  }

  /** Returns the registries that have `anonymous` or keys, whether these are in effect or not, in order. */
  async opening(): Promise<Pick<Registry, 'name' | 'origin'>[]> {
    return this.registries
      .createQueryBuilder('registry')
      .select(['registry.id', 'registry.name', 'registry.origin'])
      .where(`registry.anonymousClaims is not null or registry.keys <> '[]'`)
      .orderBy({ 'registry.origin': 'DESC', 'registry.position': 'ASC', 'registry.id': 'ASC' })
      .getMany();
  }

  /**
   * Counts the registries created through the API. Until the transaction ends, no other registry is created.
   */
  async countMade(manager: EntityManager): Promise<number> {
    await lockCreation(manager, 'registry');
    return manager.countBy(Registry, { origin: 'api' });
  }

  async findByName(name: string, manager: EntityManager = this.registries.manager): Promise<Registry | null> {
    if (!isStorable(name)) return null;
    return firstWithSources(this.select(manager).where({ name }));
  }

  async findById(manager: EntityManager, id: number): Promise<Registry | null> {
    return firstWithSources(this.select(manager).where({ id }));
  }

  /**
   * Returns the registry if entries can be published through it: it has `publishClaims` and contains the managed
   * source.
   */
  async findPublishable(name: string): Promise<(Registry & { publishClaims: Claims }) | null> {
    if (!isStorable(name)) return null;
    const found = await firstWithSources(
      this.select(this.registries.manager)
        .innerJoin('registry.sources', 'filled')
        .innerJoin('filled.source', 'managed', 'managed.kind = :kind', { kind: MANAGED_KIND })
        .where('registry.name = :name and registry.publishClaims is not null', { name }),
    );
    return found as (Registry & { publishClaims: Claims }) | null;
  }

  /** Finds a registry and locks its name until the transaction ends, even if the registry does not exist. */
  async lockByName(manager: EntityManager, name: string): Promise<Registry | null> {
    await lockForChange(manager, 'registry', name);
    return firstWithSources(
      this.select(manager).where({ name }).setLock('pessimistic_write', undefined, ['registry']),
    );
  }

  async remove(manager: EntityManager, registry: Registry): Promise<void> {
    await manager.delete(Registry, { id: registry.id });
  }

  // The sources are returned in one column: a joined row for each of them would repeat the claims and keys of the registry.
  private select(manager: EntityManager): SelectQueryBuilder<Registry> {
    return manager
      .getRepository(Registry)
      .createQueryBuilder('registry')
      .innerJoinAndSelect('registry.claimSet', 'claimSet')
      .addSelect(
        (sources) =>
          sources
            .select(
              `coalesce(json_agg(json_build_object('sourceId', source.id, 'name', source.name) order by held.position), '[]')`,
            )
            .from(RegistrySource, 'held')
            .innerJoin('held.source', 'source')
            .where('held.registryId = registry.id'),
        'held_sources',
      );
  }
}

/** Returns the first registry of a query with its sources; null if there is none. */
async function firstWithSources(query: SelectQueryBuilder<Registry>): Promise<Registry | null> {
  const [registry] = await withSources(query);
  return registry ?? null;
}

async function withSources(query: SelectQueryBuilder<Registry>): Promise<Registry[]> {
  const { entities, raw } = await query.getRawAndEntities<{
    held_sources: { sourceId: number; name: string }[];
  }>();
  for (const [row, registry] of entities.entries())
    registry.sources = (raw[row]?.held_sources ?? []).map(({ sourceId, name }, index) => ({
      registryId: registry.id,
      position: index + 1,
      sourceId,
      source: { id: sourceId, name },
    })) as RegistrySource[];
  return entities;
}

/** Bytes per source name: a DNS label, its quotes and a comma. */
const MAX_SOURCE_NAME = 66;

/** SQL: the ids of the first registries in `:ids`, up to 1 MiB in total but at least one. */
const FIRST_REGISTRIES = `select id from (${firstRows(
  'r.id',
  `octet_length(r::text) + octet_length(c.claims::text)
    + (select count(*) * ${MAX_SOURCE_NAME} from registry_source p where p.registry_id = r.id)`,
  `unnest(:ids::int[]) with ordinality asked(id, number) join registry r on r.id = asked.id
  join claim_set c on c.id = r.claim_set_id`,
  'asked.number',
)}) listed`;

/** Returns the ids of the registries of this origin that contain one of these sources, ordered by name. */
export async function registriesWith(
  manager: EntityManager,
  sourceIds: readonly number[],
  origin: Origin,
): Promise<number[]> {
  const registries = await manager
    .createQueryBuilder(Registry, 'registry')
    .select('registry.id')
    .where({ origin })
    .andWhere(
      'exists (select from registry_source where registry_id = registry.id and source_id = any(:sourceIds))',
    )
    .setParameters({ sourceIds })
    .orderBy('registry.name')
    .getMany();
  return registries.map(({ id }) => id);
}
