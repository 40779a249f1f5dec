import { Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import type { RegistryConfig } from '../config/config.js';
import { RegistriesRepository, registriesWith } from '../registries/registries.repository.js';
import { auditedRegistry } from '../registries/registries.responses.js';
import { RegistryWriter } from '../registries/registry-writer.js';
import { Registry, RegistrySource } from '../registries/registry.entity.js';
import { type SourceRow, SourcesRepository } from '../sources/sources.repository.js';
import { applied, type ConfigurationRun } from './configuration-run.js';

/** Writes the registries that the configuration file declares. */
@Injectable()
export class ConfiguredRegistries {
  constructor(
    private readonly repository: RegistriesRepository,
    private readonly sources: SourcesRepository,
    private readonly writer: RegistryWriter,
  ) {}

  /**
   * Returns the registries to write, by name (null if they must be created): those that differ, and those in the file
   * that contain a source to be removed.
   */
  async load(
    { manager }: ConfigurationRun,
    names: ReadonlySet<string>,
    leaving: readonly number[],
  ): Promise<ReadonlyMap<string, Registry | null>> {
    const found = new Map<string, Registry | null>();
    for (const name of names) found.set(name, await this.repository.findByName(name, manager));
    for (const id of await registriesWith(manager, leaving, 'config')) {
      const registry = await this.repository.findById(manager, id);
      if (registry) found.set(registry.name, registry);
    }
    return found;
  }

  async remove({ manager, changes, events }: ConfigurationRun, ids: readonly number[]): Promise<void> {
    for (const id of ids) {
      const registry = await this.repository.findById(manager, id);
      if (!registry) continue;
      changes.push(`registry ${registry.name}: removed`);
      events.push(applied('registry', registry.name, auditedRegistry(registry), null));
    }
    await manager.delete(Registry, { id: In([...ids]) });
  }

  /** Creates, changes or takes over the registries that `load` returned. */
  async putAll(run: ConfigurationRun, found: ReadonlyMap<string, Registry | null>): Promise<void> {
    if (found.size === 0) return;
    const rows = new Map((await this.sources.rows(run.manager)).map((source) => [source.name, source]));
    for (const [position, declared] of run.config.registries.entries()) {
      const registry = found.get(declared.name);
      if (registry !== undefined) await this.put(run, registry, declared, rows, position);
    }
  }

  private async put(
    { manager, changes, warnings, events }: ConfigurationRun,
    found: Registry | null,
    declared: RegistryConfig,
    rows: ReadonlyMap<string, SourceRow>,
    position: number,
  ): Promise<void> {
    const { name } = declared;
    const isTakenOver = found?.origin === 'api';
    const before =
      found &&
      auditedRegistry(found, { ...(isTakenOver ? { origin: 'api' } : {}), position: found.position });
    const { outcome, registry } = await this.writer.put(
      manager,
      found,
      declared,
      declared.sources.flatMap((source) => rows.get(source) ?? []),
      'config',
      position,
    );
    changes.push(`registry ${name}: ${isTakenOver ? 'taken over from the API' : outcome}`);
    const after = auditedRegistry(registry, { ...(isTakenOver ? { origin: 'config' } : {}), position });
    events.push(applied('registry', name, before, after));
    if (isTakenOver)
      warnings.push(
        `The registry ${name} was created through the API: it is now managed by the configuration file`,
      );
  }

  /**
   * Removes sources from the registries created through the API, one at a time because there may be many.
   *
   * @param reason continues a sentence about the source.
   * @param keeps decides which registries keep the sources.
   */
  async removeSources(
    { manager, config, changes, warnings, events }: ConfigurationRun,
    sourceIds: readonly number[],
    reason: string,
    keeps: (registry: Registry) => boolean = () => false,
  ): Promise<void> {
    // The file takes these over and lists their sources.
    const declared = new Set(config.registries.map(({ name }) => name));
    for (const id of await registriesWith(manager, sourceIds, 'api')) {
      const registry = await this.repository.findById(manager, id);
      if (!registry || declared.has(registry.name) || keeps(registry)) continue;
      const { name } = registry;
      const before = auditedRegistry(registry);
      const lost = registry.sources.filter(({ sourceId }) => sourceIds.includes(sourceId));
      await manager.delete(RegistrySource, { registryId: id, sourceId: In([...sourceIds]) });
      await manager.update(Registry, { id }, { updatedAt: () => 'now()' });
      registry.sources = registry.sources.filter((held) => !lost.includes(held));
      changes.push(`registry ${name}: changed`);
      events.push(applied('registry', name, before, auditedRegistry(registry)));
      for (const { source } of lost)
        warnings.push(
          `The registry ${name}, created through the API, lost its source ${source.name}, which ${reason}`,
        );
    }
  }
}
