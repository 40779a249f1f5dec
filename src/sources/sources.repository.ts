import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, Repository, type SelectQueryBuilder } from 'typeorm';
import { firstRows } from '../database/bulk.js';
import { lockCreation, lockForChange } from '../database/locks.js';
import { MANAGED_KIND, type SettingsOf } from '../source-kinds/kinds.js';
import { isStorable } from '../validation/storable-text.js';
import { Source, type SyncStatus } from './source.entity.js';

/** A source without its settings, which may be large. */
export type SourceRow = Pick<Source, 'id' | 'name' | 'claimSetId'>;

/** SQL: the ids of the first sources in `:ids`, up to 1 MiB in total but at least one. */
const FIRST_SOURCES = `select id from (${firstRows(
  's.id',
  'octet_length(s::text) + octet_length(c.claims::text) + octet_length(y.skipped::text)',
  `unnest(:ids::int[]) with ordinality asked(id, number) join source s on s.id = asked.id
  join claim_set c on c.id = s.claim_set_id join source_sync y on y.source_id = s.id`,
  'asked.number',
)}) listed`;

/** Loads sources with their claims and sync states. */
@Injectable()
export class SourcesRepository {
  constructor(@InjectRepository(Source) private readonly sources: Repository<Source>) {}

  /**
   * Returns the sources without their settings, ordered by name.
   *
   * @param status of the sources' syncs; if absent, returns all sources.
   */
  async rows(manager: EntityManager = this.sources.manager, status?: SyncStatus): Promise<SourceRow[]> {
    return manager.find(Source, {
      select: { id: true, name: true, claimSetId: true },
      where: status === undefined ? {} : { state: { status } },
      order: { name: 'ASC' },
    });
  }

  /** Returns the first of these sources, in order: up to 1 MiB in total, but at least one if any exists. */
  async loadFirst(rows: readonly SourceRow[]): Promise<Source[]> {
    const ids = rows.map(({ id }) => id);
    return this.select(this.sources.manager)
      .where(`source.id in (${FIRST_SOURCES})`, { ids })
      .orderBy('array_position(:ids::int[], source.id)')
      .getMany();
  }

  /**
   * Counts the sources created through the API. Until the transaction ends, no other source is created.
   */
  async countMade(manager: EntityManager): Promise<number> {
    await lockCreation(manager, 'source');
    return manager.countBy(Source, { origin: 'api' });
  }

  async findByName(name: string, manager: EntityManager = this.sources.manager): Promise<Source | null> {
    if (!isStorable(name)) return null;
    return this.select(manager).where({ name }).getOne();
  }

  /** Finds a source and locks its name until the transaction ends, even if the source does not exist. */
  async lockByName(manager: EntityManager, name: string): Promise<Source | null> {
    await lockForChange(manager, 'source', name);
    return this.select(manager).where({ name }).setLock('pessimistic_write', undefined, ['source']).getOne();
  }

  /** Locks the existing sources with these names until the transaction ends; ordered by name. */
  async lockByNames(manager: EntityManager, names: readonly string[]): Promise<Source[]> {
    return this.lock(manager, 'source.name = any(:names)', { names });
  }

  /** Locks sources by ID, like `lockByNames`. */
  async lockByIds(manager: EntityManager, ids: readonly number[]): Promise<Source[]> {
    return this.lock(manager, 'source.id = any(:ids)', { ids });
  }

  private lock(manager: EntityManager, condition: string, values: object): Promise<Source[]> {
    return this.select(manager)
      .where(condition, values)
      .orderBy('source.name')
      .setLock('pessimistic_write', undefined, ['source'])
      .getMany();
  }

  /** Returns the existing sources with these names, in any order. */
  async findByNames(manager: EntityManager, names: readonly string[]): Promise<SourceRow[]> {
    return this.ofNames(manager, names).getMany();
  }

  /**
   * Returns the existing sources with these names, in this order, locked against changes until the transaction ends.
   */
  async shareByNames(manager: EntityManager, names: readonly string[]): Promise<SourceRow[]> {
    const found = await this.ofNames(manager, names).setLock('pessimistic_read').getMany();
    const byName = new Map(found.map((source) => [source.name, source]));
    return names.flatMap((name) => byName.get(name) ?? []);
  }

  async findManaged(): Promise<Source | null> {
    return this.select(this.sources.manager).where({ kind: MANAGED_KIND }).getOne();
  }

  async remove(manager: EntityManager, source: Source): Promise<void> {
    await manager.delete(Source, { id: source.id });
  }

  private ofNames(manager: EntityManager, names: readonly string[]): SelectQueryBuilder<Source> {
    return manager
      .createQueryBuilder(Source, 'source')
      .select(['source.id', 'source.name', 'source.claimSetId'])
      .where('source.name = any(:names)', { names });
  }

  private select(manager: EntityManager): SelectQueryBuilder<Source> {
    return manager
      .getRepository(Source)
      .createQueryBuilder('source')
      .innerJoinAndSelect('source.claimSet', 'claimSet')
      .innerJoinAndSelect('source.state', 'state');
  }
}

/** Selects a source without its settings, and takes the lock that every change to its entries takes. */
export function lockSource(manager: EntityManager, id: number): SelectQueryBuilder<Source> {
  return manager
    .createQueryBuilder(Source, 'source')
    .select(['source.id', 'source.name', 'source.kind', 'source.claimSetId', 'source.admission'])
    .innerJoinAndSelect('source.claimSet', 'claimSet')
    .where({ id })
    .setLock('for_no_key_update', undefined, ['source']);
}

/** The managed source, as publishing needs it. */
export interface ManagedSource {
  readonly id: number;
  readonly name: string;
  readonly settings: SettingsOf<typeof MANAGED_KIND>;
}

/** Returns the managed source with a shared lock: it cannot be removed until the transaction ends. */
export async function shareManaged(manager: EntityManager): Promise<ManagedSource | null> {
  const source = await manager.findOne(Source, {
    select: { id: true, name: true, settings: true },
    where: { kind: MANAGED_KIND },
    lock: { mode: 'for_key_share' },
  });
  return source as ManagedSource | null;
}

/** Returns the registries that contain a source, without their claims, ordered by name. */
export async function registriesOf(
  manager: EntityManager,
  sourceId: number,
): Promise<{ readonly name: string; readonly claimSetId: number }[]> {
  return manager
    .createQueryBuilder(Source, 'source')
    .innerJoin('registry_source', 'held', 'held.source_id = source.id')
    .innerJoin('registry', 'registry', 'registry.id = held.registry_id')
    .select('registry.name', 'name')
    .addSelect('registry.claim_set_id', 'claimSetId')
    .where('source.id = :sourceId', { sourceId })
    .orderBy('registry.name')
    .getRawMany();
}
