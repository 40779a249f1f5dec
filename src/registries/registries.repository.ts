import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, Repository, type SelectQueryBuilder } from 'typeorm';
import type { Claims } from '../claims/claims.js';
import { lockForChange } from '../database/statements.js';
import { MANAGED_KIND } from '../source-kinds/kinds.js';
import { isStorable } from '../validation/storable-text.js';
import { Registry } from './registry.entity.js';

/** Loads registries with their claims and the names of their sources in order. */
@Injectable()
export class RegistriesRepository {
  constructor(@InjectRepository(Registry) private readonly registries: Repository<Registry>) {}

  /** Returns the registries in configuration order, followed by registries created through the API, oldest first. */
  async all(): Promise<Registry[]> {
    return this.select(this.registries.manager).getMany();
  }

  async findByName(name: string, manager: EntityManager = this.registries.manager): Promise<Registry | null> {
    if (!isStorable(name)) return null;
    return this.select(manager).where({ name }).getOne();
  }

  /**
   * Returns the registry if entries can be published through it: it has `publishClaims` and contains the managed
   * source.
   */
  async findPublishable(name: string): Promise<(Registry & { publishClaims: Claims }) | null> {
    if (!isStorable(name)) return null;
    const found = await this.select(this.registries.manager)
      .innerJoin('registry.sources', 'filled')
      .innerJoin('filled.source', 'managed', 'managed.kind = :kind', { kind: MANAGED_KIND })
      .where('registry.name = :name and registry.publishClaims is not null', { name })
      .getOne();
    return found as (Registry & { publishClaims: Claims }) | null;
  }

  /** Finds a registry and locks its name until the transaction ends, even if the registry does not exist. */
  async lockByName(manager: EntityManager, name: string): Promise<Registry | null> {
    await lockForChange(manager, 'registry', name);
    return this.select(manager)
      .where({ name })
      .setLock('pessimistic_write', undefined, ['registry'])
      .getOne();
  }

  async remove(manager: EntityManager, registry: Registry): Promise<void> {
    await manager.delete(Registry, { id: registry.id });
  }

  private select(manager: EntityManager): SelectQueryBuilder<Registry> {
    return manager
      .getRepository(Registry)
      .createQueryBuilder('registry')
      .innerJoinAndSelect('registry.claimSet', 'claimSet')
      .leftJoinAndSelect('registry.sources', 'held')
      .leftJoin('held.source', 'source')
      .addSelect(['source.id', 'source.name'])
      .orderBy({
        // 'config' sorts before 'api'.
        'registry.origin': 'DESC',
        'registry.position': 'ASC',
        'registry.id': 'ASC',
        'held.position': 'ASC',
      });
  }
}
