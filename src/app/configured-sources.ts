import { Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import { AccessPolicy } from '../authz/access-policy.js';
import type { Claims } from '../claims/claims.js';
import type { SourceConfig } from '../config/config.js';
import { RegistrySource } from '../registries/registry.entity.js';
import { MANAGED_KIND } from '../source-kinds/kinds.js';
import { SourceWriter } from '../sources/source-writer.js';
import { Source } from '../sources/source.entity.js';
import { SourcesRepository } from '../sources/sources.repository.js';
import { auditedSource } from '../sources/sources.responses.js';
import { applied, type ConfigurationRun } from './configuration-run.js';
import { ConfiguredRegistries } from './configured-registries.js';

/** Sources loaded and written per batch, so that the server handles requests between batches. */
const SOURCES_PER_BATCH = 100;

/** The managed source created through the API, which the file takes over under any name. */
interface MadeManaged {
  readonly id: number;
  readonly name: string;
  readonly declaredName: string;
}

/** Writes the sources that the configuration file declares. */
@Injectable()
export class ConfiguredSources {
  constructor(
    private readonly policy: AccessPolicy,
    private readonly repository: SourcesRepository,
    private readonly writer: SourceWriter,
    private readonly registries: ConfiguredRegistries,
  ) {}

  /** Returns the managed source created through the API, if the file declares one. */
  async findMadeManaged({ manager, config }: ConfigurationRun): Promise<MadeManaged | null> {
    const declared = config.sources.find(({ kind }) => kind === MANAGED_KIND);
    if (!declared) return null;
    const made = await manager.findOne(Source, {
      select: { id: true, name: true },
      where: { kind: MANAGED_KIND, origin: 'api' },
    });
    return made && { id: made.id, name: made.name, declaredName: declared.name };
  }

  // Also removes sources whose kind changed, because their entries are obsolete, and sources created through the API
  // whose name the file uses for another kind.
  async remove(run: ConfigurationRun, ids: readonly number[]): Promise<void> {
    if (ids.length === 0) return;
    const { manager, changes, warnings, events } = run;
    const leaving = await this.repository.lockByIds(manager, ids);
    await this.registries.removeSources(run, ids, 'was removed');
    await manager.delete(RegistrySource, { sourceId: In([...ids]) });
    await manager.delete(Source, { id: In([...ids]) });
    for (const source of leaving) {
      changes.push(`source ${source.name}: removed with its entries`);
      events.push(applied('source', source.name, auditedSource(source), null));
      if (source.origin === 'api')
        warnings.push(
          `The source ${source.name}, created through the API, was removed with its entries: the configuration file has a source of another kind with this name`,
        );
    }
  }

  /** Creates, changes or takes over the declared sources of these names. */
  async putAll(
    run: ConfigurationRun,
    names: ReadonlySet<string>,
    managed: MadeManaged | null,
  ): Promise<void> {
    const { manager, config } = run;
    if (managed) await manager.update(Source, { id: managed.id }, { name: managed.declaredName });
    const declared = config.sources.filter(({ name }) => names.has(name));
    for (let start = 0; start < declared.length; start += SOURCES_PER_BATCH)
      await this.put(run, declared.slice(start, start + SOURCES_PER_BATCH), managed);
  }

  private async put(
    run: ConfigurationRun,
    batch: readonly SourceConfig[],
    managed: MadeManaged | null,
  ): Promise<void> {
    const { manager, changes, events } = run;
    const stored = await this.repository.lockByNames(
      manager,
      batch.map(({ name }) => name),
    );
    const found = new Map(stored.map((source) => [source.name, source]));
    const missing = batch.filter(({ name }) => !found.has(name));
    for (const source of await this.writer.createAll(manager, missing, 'config', null)) {
      changes.push(`source ${source.name}: created`);
      events.push(applied('source', source.name, null, auditedSource(source)));
    }
    for (const declared of batch) {
      const source = found.get(declared.name);
      if (source?.origin === 'api') await this.takeOver(run, source, declared, managed);
      else if (source) {
        const before = auditedSource(source);
        await this.writer.put(manager, source, declared, 'config', null);
        changes.push(`source ${source.name}: changed`);
        events.push(applied('source', source.name, before, auditedSource(source)));
      }
    }
  }

  private async takeOver(
    run: ConfigurationRun,
    source: Source,
    declared: SourceConfig,
    managed: MadeManaged | null,
  ): Promise<void> {
    const { manager, changes, warnings, events } = run;
    const { name } = declared;
    const { claimSetId } = source;
    const earlierName = source.id === managed?.id ? managed.name : name;
    const before = auditedSource(source, { name: earlierName, origin: 'api' });
    await this.writer.put(manager, source, declared, 'config', null);
    changes.push(`source ${name}: taken over from the API`);
    events.push(applied('source', name, before, auditedSource(source, { name, origin: 'config' })));
    const called = earlierName === name ? '' : `, where it was called ${earlierName}`;
    warnings.push(
      `The source ${name} was created through the API${called}: it is now managed by the configuration file`,
    );
    // Managers of a registry read all its entries regardless of their claims, so the source stays only in registries
    // whose managers cover its new claims.
    if (source.claimSetId === claimSetId) return;
    await this.registries.removeSources(run, [source.id], 'was taken over with other claims', ({ claims }) =>
      isWithin(this.policy, claims, source.claims),
    );
  }
}

// Only super-admins reach a source without claims under `unlabeled: deny`, which `keepsWithin` cannot know.
function isWithin(policy: AccessPolicy, claims: Claims, required: Claims): boolean {
  const isUnlabeled = Object.keys(required).length === 0;
  return isUnlabeled ? Object.keys(claims).length === 0 : policy.keepsWithin(claims, required);
}
