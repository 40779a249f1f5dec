import { Injectable, Logger } from '@nestjs/common';
import { type EntityManager, In } from 'typeorm';
import { AuditTrail, type ChangeEvent } from '../audit/audit-trail.js';
import { AccessPolicy } from '../authz/access-policy.js';
import type { Claims } from '../claims/claims.js';
import type { Config, RegistryConfig, SourceConfig } from '../config/config.js';
import { lockCatalogue } from '../database/statements.js';
import { registriesWith } from '../registries/registries.queries.js';
import { RegistriesRepository } from '../registries/registries.repository.js';
import { declaredForm as declaredRegistry } from '../registries/registries.responses.js';
import { RegistryWriter } from '../registries/registry-writer.js';
import { Registry, RegistrySource } from '../registries/registry.entity.js';
import { MANAGED_KIND } from '../source-kinds/kinds.js';
import { SourceStates } from '../sources/source-states.queries.js';
import { SourceWriter } from '../sources/source-writer.js';
import { Source } from '../sources/source.entity.js';
import { type SourceRow, SourcesRepository } from '../sources/sources.repository.js';
import { declaredForm as declaredSource } from '../sources/sources.responses.js';
import { AppliedSettings } from './applied-settings.js';
import { differencesFrom, isDifferent } from './configured-differences.queries.js';

/** The changes made by a startup or reload, such as `source catalog: created`. */
export type Changes = string[];

/** The part of the configuration that is kept and audited in the database. */
type CatalogueConfig = Pick<Config, 'auth' | 'sources' | 'registries' | 'webhooks' | 'admission'>;

/** Number of sources loaded and written per batch, so that requests are answered in between. */
const SOURCES_PER_BATCH = 100;

/** The state of one startup or reload. */
interface Run {
  readonly manager: EntityManager;
  readonly config: CatalogueConfig;
  readonly changes: Changes;
  /** What happened to resources created through the API. */
  readonly warnings: string[];
  /** Recorded together at the end, in a few statements. */
  readonly events: ChangeEvent[];
}

/** The managed source created through the API, which the file takes over, whatever its name. */
interface MadeManaged {
  readonly id: number;
  readonly name: string;
  readonly declaredName: string;
}

/** Applies the sources and registries declared in the configuration file: rows of origin `config`. */
@Injectable()
export class ConfiguredResources {
  private readonly logger = new Logger('configuration');

  constructor(
    private readonly audit: AuditTrail,
    private readonly settings: AppliedSettings,
    private readonly policy: AccessPolicy,
    private readonly sources: SourcesRepository,
    private readonly sourceWriter: SourceWriter,
    private readonly states: SourceStates,
    private readonly registries: RegistriesRepository,
    private readonly registryWriter: RegistryWriter,
  ) {}

  /**
   * Makes the rows match the file, in one transaction (reference/configuration): creates, changes and removes sources
   * and registries, with their entries. Rows that already match are neither locked nor written. Resources created
   * through the API never stop it: the file takes over their names and the managed source, and a removed source leaves
   * every registry. Changes to authorization, admission and webhooks are audited.
   *
   * @param waiting for a reload, which syncs only changed sources: the paths of settings that wait for a restart.
   * @returns the changes; changes of `auth` only at startup, because each replica reloads them separately.
   */
  async apply(config: CatalogueConfig, waiting: readonly string[] | null = null): Promise<Changes> {
    const forms = await this.settings.formsOf(config);
    const { changes, warnings } = await this.audit.transaction(null, async (manager, record) => {
      const run: Run = { manager, config, changes: [], warnings: [], events: [] };
      const differs =
        isDifferent(await differencesFrom(config, manager)) || (await this.settings.differ(manager, forms));
      if (differs) {
        // Serializes this transaction with other replicas and with changes made through the admin API.
        await lockCatalogue(manager);
        await this.write(run);
        await record(run.events);
        const { auth, others } = await this.settings.apply(manager, forms, waiting ?? [], record);
        run.changes.push(...others, ...(waiting ? [] : auth));
      }
      // Source content may have changed while the server was down.
      if (!waiting) await this.states.scheduleConfigured(manager);
      return run;
    });
    for (const warning of warnings) this.logger.warn(warning);
    return changes;
  }

  private async write(run: Run): Promise<void> {
    const { manager, config } = run;
    // Compare again: another replica may have applied the file while this one waited for the lock.
    const { sources, registries } = await differencesFrom(config, manager);
    const managed = await this.findMadeManaged(run);
    const leaving = sources.leaving.filter((id) => id !== managed?.id);
    // Load these before they lose sources: the audit trail shows their previous state.
    const putRegistries = await this.loadRegistries(run, registries.declared, leaving);
    // Removals come first: a removed registry may hold the last reference to a removed source, and removing a managed
    // source makes room for another one.
    await this.removeRegistries(run, registries.leaving);
    await this.removeSources(run, leaving);
    if (managed) await manager.update(Source, { id: managed.id }, { name: managed.declaredName });
    const putSources = config.sources.filter(({ name }) => sources.declared.has(name));
    for (let start = 0; start < putSources.length; start += SOURCES_PER_BATCH)
      await this.putSources(run, putSources.slice(start, start + SOURCES_PER_BATCH), managed);
    if (putRegistries.size === 0) return;
    const rows = new Map((await this.sources.rows(manager)).map((source) => [source.name, source]));
    for (const [position, declared] of config.registries.entries()) {
      const found = putRegistries.get(declared.name);
      if (found !== undefined) await this.putRegistry(run, found, declared, rows, position);
    }
  }

  /** Returns the managed source created through the API, if the file declares one. */
  private async findMadeManaged({ manager, config }: Run): Promise<MadeManaged | null> {
    const declared = config.sources.find(({ kind }) => kind === MANAGED_KIND);
    if (!declared) return null;
    const made = await manager.findOne(Source, {
      select: { id: true, name: true },
      where: { kind: MANAGED_KIND, origin: 'api' },
    });
    return made && { id: made.id, name: made.name, declaredName: declared.name };
  }

  /**
   * Returns the registries to write, by name (null: to be created): those that differ, and those of the file that
   * contain a source to be removed.
   */
  private async loadRegistries(
    { manager }: Run,
    names: ReadonlySet<string>,
    leaving: readonly number[],
  ): Promise<ReadonlyMap<string, Registry | null>> {
    const found = new Map<string, Registry | null>();
    for (const name of names) found.set(name, await this.registries.findByName(name, manager));
    for (const id of await registriesWith(manager, leaving, 'config')) {
      const registry = await this.registries.findById(manager, id);
      if (registry) found.set(registry.name, registry);
    }
    return found;
  }

  private async removeRegistries({ manager, changes, events }: Run, ids: readonly number[]): Promise<void> {
    for (const id of ids) {
      const registry = await this.registries.findById(manager, id);
      if (!registry) continue;
      changes.push(`registry ${registry.name}: removed`);
      events.push(applied('registry', registry.name, registryForm(registry), null));
    }
    await manager.delete(Registry, { id: In([...ids]) });
  }

  // Also removes sources whose kind changed, because their entries are obsolete, and sources created through the API
  // whose name the file uses for another kind.
  private async removeSources(run: Run, ids: readonly number[]): Promise<void> {
    if (ids.length === 0) return;
    const { manager, changes, warnings, events } = run;
    const leaving = await this.sources.lockByIds(manager, ids);
    await this.removeFromMade(run, ids, 'was removed');
    await manager.delete(RegistrySource, { sourceId: In([...ids]) });
    await manager.delete(Source, { id: In([...ids]) });
    for (const source of leaving) {
      changes.push(`source ${source.name}: removed with its entries`);
      events.push(applied('source', source.name, sourceForm(source), null));
      if (source.origin === 'api')
        warnings.push(
          `The source ${source.name}, created through the API, was removed with its entries: the configuration file has a source of another kind with this name`,
        );
    }
  }

  private async putSources(
    run: Run,
    batch: readonly SourceConfig[],
    managed: MadeManaged | null,
  ): Promise<void> {
    const { manager, changes, events } = run;
    const stored = await this.sources.lockByNames(
      manager,
      batch.map(({ name }) => name),
    );
    const found = new Map(stored.map((source) => [source.name, source]));
    const missing = batch.filter(({ name }) => !found.has(name));
    for (const source of await this.sourceWriter.createAll(manager, missing, 'config', null)) {
      changes.push(`source ${source.name}: created`);
      events.push(applied('source', source.name, null, sourceForm(source)));
    }
    for (const declared of batch) {
      const source = found.get(declared.name);
      if (source?.origin === 'api') await this.takeOverSource(run, source, declared, managed);
      else if (source) {
        const before = sourceForm(source);
        await this.sourceWriter.put(manager, source, declared, 'config', null);
        changes.push(`source ${source.name}: changed`);
        events.push(applied('source', source.name, before, sourceForm(source)));
      }
    }
  }

  private async takeOverSource(
    run: Run,
    source: Source,
    declared: SourceConfig,
    managed: MadeManaged | null,
  ): Promise<void> {
    const { manager, changes, warnings, events } = run;
    const { name } = declared;
    const { claimSetId } = source;
    const earlierName = source.id === managed?.id ? managed.name : name;
    const before = sourceForm(source, { name: earlierName, origin: 'api' });
    await this.sourceWriter.put(manager, source, declared, 'config', null);
    changes.push(`source ${name}: taken over from the API`);
    events.push(applied('source', name, before, sourceForm(source, { name, origin: 'config' })));
    const called = earlierName === name ? '' : `, where it was called ${earlierName}`;
    warnings.push(
      `The source ${name} was created through the API${called}: it is now managed by the configuration file`,
    );
    // Who manages a registry reads all its entries, whatever their claims. So the source stays only in registries whose
    // managers cover its new claims.
    if (source.claimSetId === claimSetId) return;
    await this.removeFromMade(run, [source.id], 'was taken over with other claims', ({ claims }) =>
      isWithin(this.policy, claims, source.claims),
    );
  }

  private async putRegistry(
    { manager, changes, warnings, events }: Run,
    found: Registry | null,
    declared: RegistryConfig,
    rows: ReadonlyMap<string, SourceRow>,
    position: number,
  ): Promise<void> {
    const { name } = declared;
    const isTakenOver = found?.origin === 'api';
    const before =
      found && registryForm(found, { ...(isTakenOver ? { origin: 'api' } : {}), position: found.position });
    const { outcome, registry } = await this.registryWriter.put(
      manager,
      found,
      declared,
      declared.sources.flatMap((source) => rows.get(source) ?? []),
      'config',
      position,
    );
    changes.push(`registry ${name}: ${isTakenOver ? 'taken over from the API' : outcome}`);
    const after = registryForm(registry, { ...(isTakenOver ? { origin: 'config' } : {}), position });
    events.push(applied('registry', name, before, after));
    if (isTakenOver)
      warnings.push(
        `The registry ${name} was created through the API: it is now managed by the configuration file`,
      );
  }

  /**
   * Removes sources from the registries created through the API, one at a time: there may be many.
   *
   * @param reason continues a sentence about the source.
   * @param keeps decides which registries keep the sources.
   */
  private async removeFromMade(
    { manager, config, changes, warnings, events }: Run,
    sourceIds: readonly number[],
    reason: string,
    keeps: (registry: Registry) => boolean = () => false,
  ): Promise<void> {
    // The file takes these over and lists their sources.
    const declared = new Set(config.registries.map(({ name }) => name));
    for (const id of await registriesWith(manager, sourceIds, 'api')) {
      const registry = await this.registries.findById(manager, id);
      if (!registry || declared.has(registry.name) || keeps(registry)) continue;
      const { name } = registry;
      const before = registryForm(registry);
      const lost = registry.sources.filter(({ sourceId }) => sourceIds.includes(sourceId));
      await manager.delete(RegistrySource, { registryId: id, sourceId: In([...sourceIds]) });
      await manager.update(Registry, { id }, { updatedAt: () => 'now()' });
      registry.sources = registry.sources.filter((held) => !lost.includes(held));
      changes.push(`registry ${name}: changed`);
      events.push(applied('registry', name, before, registryForm(registry)));
      for (const { source } of lost)
        warnings.push(
          `The registry ${name}, created through the API, lost its source ${source.name}, which ${reason}`,
        );
    }
  }
}

/** A source or registry before or after a change: its claims and its audited form. */
interface Declared {
  readonly claims: Claims;
  readonly form: object;
}

function sourceForm(source: Source, more: object = {}): Declared {
  return { claims: source.shownClaims, form: { ...more, ...declaredSource(source) } };
}

function registryForm(registry: Registry, more: object = {}): Declared {
  return { claims: registry.shownClaims, form: { ...declaredRegistry(registry), ...more } };
}

function applied(
  type: 'source' | 'registry',
  name: string,
  before: Declared | null,
  after: Declared | null,
): ChangeEvent {
  return {
    action: 'config.apply',
    target: { type, name },
    claims: [before, after].flatMap((declared) => (declared ? [declared.claims] : [])),
    change: { ...(before ? { before: before.form } : {}), ...(after ? { after: after.form } : {}) },
  };
}

// With `unlabeled: deny` only super-admins reach a source without claims, which `keepsWithin` cannot know.
function isWithin(policy: AccessPolicy, claims: Claims, required: Claims): boolean {
  const isUnlabeled = Object.keys(required).length === 0;
  return isUnlabeled ? Object.keys(claims).length === 0 : policy.keepsWithin(claims, required);
}
