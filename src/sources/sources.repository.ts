import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, Repository, type SelectQueryBuilder } from 'typeorm';
import { lockForChange } from '../database/statements.js';
import { MANAGED_KIND, type SettingsOf } from '../source-kinds/kinds.js';
import { isStorable } from '../validation/storable-text.js';
import { Source } from './source.entity.js';

/** Loads sources with their claims and sync states. */
@Injectable()
export class SourcesRepository {
  constructor(@InjectRepository(Source) private readonly sources: Repository<Source>) {}

  /** Returns all sources, ordered by name. */
  async all(): Promise<Source[]> {
    return this.select(this.sources.manager).orderBy('source.name').getMany();
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

  /** Returns the existing sources with these names, in any order. */
  async findByNames(manager: EntityManager, names: readonly string[]): Promise<Source[]> {
    return this.ofNames(manager, names).getMany();
  }

  /**
   * Returns the existing sources with these names, in this order, locked against changes until the transaction ends.
   */
  async shareByNames(manager: EntityManager, names: readonly string[]): Promise<Source[]> {
    const found = await this.ofNames(manager, names)
      .setLock('pessimistic_read', undefined, ['source'])
      .getMany();
    return names.flatMap((name) => found.find((source) => source.name === name) ?? []);
  }

  /** Returns the managed source, if there is one. */
  async findManaged(manager: EntityManager = this.sources.manager): Promise<Source | null> {
    return this.select(manager).where({ kind: MANAGED_KIND }).getOne();
  }

  /** Returns the managed source with a shared lock: it cannot be removed until the transaction ends. */
  async shareManaged(manager: EntityManager): Promise<{
    readonly id: number;
    readonly name: string;
    readonly settings: SettingsOf<typeof MANAGED_KIND>;
  } | null> {
    return manager
      .createQueryBuilder(Source, 'source')
      .select(['source.id', 'source.name', 'source.settings'])
      .where({ kind: MANAGED_KIND })
      .setLock('for_key_share')
      .getOne();
  }

  async remove(manager: EntityManager, source: Source): Promise<void> {
    await manager.delete(Source, { id: source.id });
  }

  private ofNames(manager: EntityManager, names: readonly string[]): SelectQueryBuilder<Source> {
    return this.select(manager).where('source.name = any(:names)', { names });
  }

  private select(manager: EntityManager): SelectQueryBuilder<Source> {
    return manager
      .getRepository(Source)
      .createQueryBuilder('source')
      .innerJoinAndSelect('source.claimSet', 'claimSet')
      .innerJoinAndSelect('source.state', 'state');
  }
}
