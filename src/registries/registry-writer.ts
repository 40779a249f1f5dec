import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { Caller } from '../auth/caller.js';
import { ClaimSetsRepository } from '../claim-sets/claim-sets.repository.js';
import { type Claims, givenForm } from '../claims/claims.js';
import type { Origin, RegistryConfig } from '../config/config.js';
import { readSecret } from '../config/referenced-files.js';
import { isKey, NO_KEY, type RegistryKey } from '../config/registry-keys.js';
import { REGISTRY_SETTINGS, type RegistryKeySettings } from '../config/registry-settings.dto.js';
import { registryKeyOf } from '../config/resolve-config.js';
import { invalidBody } from '../http/validation.pipe.js';
import { hasColumns, storedIn } from '../source-kinds/settings-table.js';
import { AdminFiles } from '../sources/admin-limits.js';
import type { SourceRow } from '../sources/sources.repository.js';
import { below, issue } from '../validation/value-checks.js';
import { Registry, RegistrySource } from './registry.entity.js';

export interface WrittenRegistry {
  /** `moved` means that only the registry's position changed. */
  readonly outcome: 'created' | 'changed' | 'moved' | 'unchanged';
  readonly registry: Registry;
}

/** Writes registries declared in the configuration file or through the admin API, in the transaction passed in. */
@Injectable()
export class RegistryWriter {
  constructor(private readonly claimSets: ClaimSetsRepository) {}

  /**
   * @param found the stored registry, already locked; null if no registry has this name. The file takes over registries
   *   created through the API.
   * @param sources the declared sources, in order.
   * @param position the position in the configuration; 0 for registries created through the API, which are ordered by
   *   age.
   */
  async put(
    manager: EntityManager,
    found: Registry | null,
    declared: RegistryConfig,
    sources: readonly SourceRow[],
    origin: Origin,
    position: number,
  ): Promise<WrittenRegistry> {
    const claimSet = await this.claimSets.findOrCreate(manager, declared.claims);
    const columns = { ...registryColumns(declared), origin, claimSetId: claimSet.id };
    const hasSameSources =
      found !== null &&
      isDeepStrictEqual(
        found.sources.map(({ sourceId }) => sourceId),
        sources.map(({ id }) => id),
      );
    const hasSameContent = found !== null && hasSameSources && hasColumns<Registry>(found, columns);
    if (hasSameContent && found.position === position) return { outcome: 'unchanged', registry: found };
    const registry = found ?? manager.create(Registry, { name: declared.name });
    Object.assign(registry, columns, { claimSet, position });
    if (found) registry.updatedAt = await this.update(manager, registry.id, { ...columns, position });
    else await manager.insert(Registry, registry);
    if (!hasSameSources) await this.putSources(manager, registry, sources);
    if (!found) return { outcome: 'created', registry };
    return { outcome: hasSameContent ? 'moved' : 'changed', registry };
  }

  private async putSources(
    manager: EntityManager,
    registry: Registry,
    sources: readonly SourceRow[],
  ): Promise<void> {
    const registryId = registry.id;
    const rows = sources.map(({ id }, index) => ({ registryId, position: index + 1, sourceId: id }));
    await manager.delete(RegistrySource, { registryId });
    await manager.insert(RegistrySource, rows);
    registry.sources = rows.map((row, index) =>
      manager.create(RegistrySource, { ...row, source: sources[index] }),
    );
  }

  private async update(manager: EntityManager, id: number, columns: Partial<Registry>): Promise<Date> {
    const { raw } = await manager
      .createQueryBuilder()
      .update(Registry)
      .set({ ...columns, updatedAt: () => 'now()' })
      .where({ id })
      .returning('updated_at')
      .execute();
    const [row] = raw as { updated_at: Date }[];
    if (!row) throw new Error('A locked registry has disappeared');
    return row.updated_at;
  }
}

/** Returns the columns whose values depend only on the declaration. */
export function registryColumns(declared: RegistryConfig) {
  return { givenClaims: givenForm(declared.claims), ...storedIn(REGISTRY_SETTINGS, declared) };
}

/** Reads the keys of registries created through the API from files below `adminFileRoots`. */
@Injectable()
export class AdminKeys {
  constructor(private readonly files: AdminFiles) {}

  /**
   * Reads the keys from their files; only their digests are stored.
   *
   * @param claims the claims of the registry.
   * @throws ApiError 400 `path_not_allowed`, or `invalid_body` for a file without a valid key or with a duplicate key.
   */
  async read(caller: Caller, keys: readonly RegistryKeySettings[], claims: Claims): Promise<RegistryKey[]> {
    const read: RegistryKey[] = [];
    for (const [position, key] of keys.entries()) {
      const path = ['keys', position, 'secretFile'];
      const reader = { kind: 'file', settings: {}, claims } as const;
      const file = await this.files.check(key.secretFile, 'content', reader, caller);
      const secret = readSecret(file);
      const refuse = (problem: string) => invalidBody(below(path, issue(`the file ${problem}`)));
      if ('problem' in secret) throw refuse(secret.problem);
      if (!isKey(secret.content)) throw refuse(NO_KEY);
      const stored = registryKeyOf(key, resolve(this.files.directory, key.secretFile), secret.content);
      if (read.some(({ digest }) => digest === stored.digest))
        throw refuse('contains the same key as another file');
      read.push(stored);
    }
    return read;
  }
}
