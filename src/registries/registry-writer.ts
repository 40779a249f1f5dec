import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { givenForm } from '../claims/claims.js';
import { ClaimSetsRepository } from '../claim-sets/claim-sets.repository.js';
import type { RegistryConfig } from '../config/config.js';
import type { Origin, Source } from '../sources/source.entity.js';
import { Registry, RegistrySource } from './registry.entity.js';

export interface WrittenRegistry {
  /** `moved`: only its place among the others is another one. */
  readonly outcome: 'created' | 'changed' | 'moved' | 'unchanged';
  readonly registry: Registry;
}

/** Writes what the configuration file and the admin API declare of a registry, alike. Runs inside its caller's transaction. */
@Injectable()
export class RegistryWriter {
  constructor(private readonly claimSets: ClaimSetsRepository) {}

  /**
   * @param found the registry as it is stored, locked; null when there is none of that name.
   * @param sources those that are declared, in their order.
   * @param position the place among the registries of the configuration; 0 for those made through the API, which are
   *   ordered by age.
   */
  async put(
    manager: EntityManager,
    found: Registry | null,
    declared: RegistryConfig,
    sources: readonly Source[],
    origin: Origin,
    position: number,
  ): Promise<WrittenRegistry> {
    const claimSet = await this.claimSets.findOrCreate(manager, declared.claims);
    const givenClaims = givenForm(declared.claims);
    const hasSameContent =
      found !== null &&
      found.claimSetId === claimSet.id &&
      isDeepStrictEqual(found.givenClaims, givenClaims) &&
      isDeepStrictEqual(openingOf(found), openingOf(declared)) &&
      isDeepStrictEqual(found.sourceNames, [...declared.sources]);
    if (hasSameContent && found.position === position) return { outcome: 'unchanged', registry: found };
    const registry = found ?? manager.create(Registry, { name: declared.name, origin });
    Object.assign(registry, {
      claimSet,
      claimSetId: claimSet.id,
      givenClaims,
      position,
      ...openingOf(declared),
    });
    if (found) registry.updatedAt = await this.update(manager, registry);
    else await manager.insert(Registry, registry);
    registry.sources = sources.map((source, index) =>
      manager.create(RegistrySource, {
        registryId: registry.id,
        position: index + 1,
        sourceId: source.id,
        source,
      }),
    );
    await manager.delete(RegistrySource, { registryId: registry.id });
    await manager.insert(
      RegistrySource,
      registry.sources.map(({ registryId, position: place, sourceId }) => ({
        registryId,
        position: place,
        sourceId,
      })),
    );
    if (!found) return { outcome: 'created', registry };
    return { outcome: hasSameContent ? 'moved' : 'changed', registry };
  }

  private async update(manager: EntityManager, registry: Registry): Promise<Date> {
    const { id, claimSetId, givenClaims, position } = registry;
    const { raw } = await manager
      .createQueryBuilder()
      .update(Registry)
      .set({ claimSetId, givenClaims, position, ...openingOf(registry), updatedAt: () => 'now()' })
      .where({ id })
      .returning('updated_at')
      .execute();
    const [row] = raw as { updated_at: Date }[];
    if (!row) throw new Error('A registry that was locked is not there');
    return row.updated_at;
  }
}

/** What opens it beside tokens, and to publishers. */
function openingOf({
  anonymousClaims,
  keys,
  publishClaims,
}: Pick<RegistryConfig, 'anonymousClaims' | 'keys' | 'publishClaims'>) {
  return { anonymousClaims, keys: [...keys], publishClaims };
}
