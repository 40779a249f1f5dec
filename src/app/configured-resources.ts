import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import { type EntityManager, In, Not } from 'typeorm';
import { AuditTrail, type RecordChange } from '../audit/audit-trail.js';
import { AppliedAuthorization } from '../authz/applied-authorization.entity.js';
import { authorizationForm } from '../authz/policy-in-force.js';
import type { Claims } from '../claims/claims.js';
import type { AuthConfig, Config, RegistryConfig, SourceConfig } from '../config/config.js';
import { lockCatalogue } from '../database/statements.js';
import { RegistriesRepository } from '../registries/registries.repository.js';
import { declaredForm as declaredRegistry } from '../registries/registries.responses.js';
import { RegistryWriter } from '../registries/registry-writer.js';
import { Registry, RegistrySource } from '../registries/registry.entity.js';
import { MANAGED_KIND } from '../source-kinds/kinds.js';
import { SourceStates } from '../sources/source-states.queries.js';
import { SourceWriter } from '../sources/source-writer.js';
import { Source } from '../sources/source.entity.js';
import { SourcesRepository } from '../sources/sources.repository.js';
import { declaredForm as declaredSource } from '../sources/sources.responses.js';

const ID = 1;

/**
 * Audits changes to the authorization settings (contract §9). Replicas that apply the same settings record the change once.
 */
@Injectable()
export class AuthorizationChanges {
  /** Compares the settings with the last applied settings. Call in a transaction that holds the catalogue lock. */
  async apply(
    manager: EntityManager,
    auth: AuthConfig,
    record: RecordChange,
  ): Promise<'created' | 'changed' | 'unchanged'> {
    const after = JSON.parse(JSON.stringify(authorizationForm(auth))) as ReturnType<typeof authorizationForm>;
    const before = (await manager.findOneBy(AppliedAuthorization, { id: ID }))?.form;
    if (isDeepStrictEqual(before, after)) return 'unchanged';
    await manager.save(AppliedAuthorization, { id: ID, form: after });
    // No settings before and none now: nothing to record.
    if (!before && after.mode !== 'full') return 'unchanged';
    await record({
      action: 'config.apply',
      target: { type: 'configuration', name: 'auth.authz' },
      claims: [],
      change: { ...(before ? { before } : {}), after },
    });
    return before ? 'changed' : 'created';
  }
}

/** The changes made by a startup or reload, such as `source catalog: created`. */
export type Changes = string[];

/** The part of the configuration that a reload applies. */
export type CatalogueConfig = Pick<Config, 'auth' | 'sources' | 'registries'>;

/** A declaration in the file that conflicts with the database; the message is for the administrator. */
export class ConfigurationConflict extends Error {
  override readonly name = 'ConfigurationConflict';
}

/** Collects the changes made by a startup or reload, and audits them. */
interface Written {
  readonly changes: Changes;
  readonly record: RecordChange;
}

/** A source or registry before or after a change: its claims and its audited form. */
interface Declared {
  readonly claims: Claims;
  readonly form: object;
}

async function recordApplied(
  record: RecordChange,
  type: 'source' | 'registry',
  name: string,
  before: Declared | null,
  after: Declared | null,
): Promise<void> {
  await record({
    action: 'config.apply',
    target: { type, name },
    claims: [before, after].flatMap((declared) => (declared ? [declared.claims] : [])),
    change: { ...(before ? { before: before.form } : {}), ...(after ? { after: after.form } : {}) },
  });
}

/** Applies the sources and registries declared in the configuration file: rows of origin `config`. */
@Injectable()
export class ConfiguredResources {
  constructor(
    private readonly audit: AuditTrail,
    private readonly authorization: AuthorizationChanges,
    private readonly sources: SourcesRepository,
    private readonly sourceWriter: SourceWriter,
    private readonly states: SourceStates,
    private readonly registries: RegistriesRepository,
    private readonly registryWriter: RegistryWriter,
  ) {}

  /**
   * Makes the rows match the file, in one transaction (contract §2): creates, changes and removes sources and registries,
   * with their entries. Rows of origin `api` are never changed. Changes to authorization are audited.
   *
   * @param isStart true at startup, which syncs every source; a reload syncs only changed sources.
   * @throws ConfigurationConflict when a row of origin `api` has the same name or uses a removed source.
   */
  async apply(config: CatalogueConfig, isStart = true): Promise<Changes> {
    return this.audit.transaction(null, async (manager, record) => {
      // Serializes this transaction with other replicas and with changes made through the admin API.
      await lockCatalogue(manager);
      const changes: Changes = [];
      // Removals come first: a removed registry may hold the last reference to a removed source, and removing a
      // managed source makes room for another one.
      const written: Written = { changes, record };
      await this.removeRegistries(manager, config, written);
      const shrunkRegistries = await this.removeSources(manager, config, written);
      await this.refuseSecondManaged(manager, config);
      for (const source of config.sources) await this.putSource(manager, source, written);
      for (const [position, registry] of config.registries.entries())
        await this.putRegistry(manager, registry, position, shrunkRegistries, written);
      const authorization = await this.authorization.apply(manager, config.auth, record);
      if (authorization !== 'unchanged') changes.push(`auth.authz: ${authorization}`);
      // Source content may have changed while the server was down.
      if (isStart) await this.states.scheduleConfigured(manager);
      return changes;
    });
  }

  private async putSource(
    manager: EntityManager,
    declared: SourceConfig,
    { changes, record }: Written,
  ): Promise<void> {
    const found = await this.sources.findByName(declared.name, manager);
    if (found?.origin === 'api')
      throw new ConfigurationConflict(
        `sources: a source named ${declared.name} was already created through the API; rename one of them`,
      );
    const before = found && { claims: found.shownClaims, form: declaredSource(found) };
    const { outcome, source } = await this.sourceWriter.put(manager, found, declared, 'config');
    if (outcome === 'unchanged') return;
    changes.push(`source ${declared.name}: ${outcome}`);
    const after = { claims: source.shownClaims, form: declaredSource(source) };
    await recordApplied(record, 'source', declared.name, before, after);
  }

  private async putRegistry(
    manager: EntityManager,
    declared: RegistryConfig,
    position: number,
    shrunkRegistries: ReadonlyMap<string, string[]>,
    { changes, record }: Written,
  ): Promise<void> {
    const found = await this.registries.findByName(declared.name, manager);
    if (found?.origin === 'api')
      throw new ConfigurationConflict(
        `registries: a registry named ${declared.name} was already created through the API; rename one of them`,
      );
    const sources = await this.sources.shareByNames(manager, declared.sources);
    const earlierSources = shrunkRegistries.get(declared.name);
    const before = found && {
      claims: found.shownClaims,
      form: {
        ...declaredRegistry(found),
        ...(earlierSources ? { sources: earlierSources } : {}),
        position: found.position,
      },
    };
    const { outcome, registry } = await this.registryWriter.put(
      manager,
      found,
      declared,
      sources,
      'config',
      position,
    );
    // The registry lost a source that was removed from the file; its other settings are unchanged.
    const hasShrunk = outcome === 'unchanged' && earlierSources !== undefined;
    if (hasShrunk) await manager.update(Registry, { name: declared.name }, { updatedAt: () => 'now()' });
    if (!hasShrunk && outcome === 'unchanged') return;
    changes.push(`registry ${declared.name}: ${hasShrunk ? 'changed' : outcome}`);
    const after = { claims: registry.shownClaims, form: { ...declaredRegistry(registry), position } };
    await recordApplied(record, 'registry', declared.name, before, after);
  }

  private async removeRegistries(
    manager: EntityManager,
    { registries }: CatalogueConfig,
    { changes, record }: Written,
  ): Promise<void> {
    const names = registries.map(({ name }) => name);
    const leaving = await manager.find(Registry, {
      where: { origin: 'config', name: Not(In(names)) },
      relations: { claimSet: true, sources: { source: true } },
      order: { name: 'ASC', sources: { position: 'ASC' } },
    });
    await manager.delete(Registry, { id: In(leaving.map(({ id }) => id)) });
    for (const registry of leaving) {
      changes.push(`registry ${registry.name}: removed`);
      const before = { claims: registry.claims, form: declaredRegistry(registry) };
      await recordApplied(record, 'registry', registry.name, before, null);
    }
  }

  // Also removes sources whose kind changed, because their entries are obsolete. Returns the registries that lost a source.
  private async removeSources(
    manager: EntityManager,
    { sources }: CatalogueConfig,
    { changes, record }: Written,
  ): Promise<ReadonlyMap<string, string[]>> {
    const kinds = new Map(sources.map(({ name, kind }) => [name, kind]));
    const configured = await manager.find(Source, {
      where: { origin: 'config' },
      relations: { claimSet: true, state: true },
      order: { name: 'ASC' },
      lock: { mode: 'pessimistic_write', tables: ['source'] },
    });
    const leaving = configured.filter(({ name, kind }) => kinds.get(name) !== kind);
    const uses = await manager
      .createQueryBuilder(RegistrySource, 'held')
      .innerJoinAndSelect('held.source', 'source')
      .innerJoinAndSelect('held.registry', 'registry')
      .where('held.sourceId = any(:ids)', { ids: leaving.map(({ id }) => id) })
      .orderBy({ 'source.name': 'ASC', 'registry.name': 'ASC' })
      .getMany();
    const conflicts = uses.filter(({ registry }) => registry.origin === 'api');
    if (conflicts.length > 0)
      throw new ConfigurationConflict(
        conflicts
          .map(
            ({ source, registry }) =>
              `sources: ${source.name} was removed from the configuration or has another kind there, but the registry ${registry.name}, created through the API, still uses it`,
          )
          .join('\n'),
      );
    const ids = leaving.map(({ id }) => id);
    const shrunk = uses.map(({ registry }) => registry.name);
    const shrinking = await manager.find(Registry, {
      where: { name: In(shrunk) },
      relations: { sources: { source: true } },
      order: { sources: { position: 'ASC' } },
    });
    await manager.delete(RegistrySource, { sourceId: In(ids) });
    await manager.delete(Source, { id: In(ids) });
    for (const source of leaving) {
      changes.push(`source ${source.name}: removed with its entries`);
      const before = { claims: source.claims, form: declaredSource(source) };
      await recordApplied(record, 'source', source.name, before, null);
    }
    return new Map(shrinking.map(({ name, sourceNames }) => [name, sourceNames]));
  }

  private async refuseSecondManaged(manager: EntityManager, { sources }: CatalogueConfig): Promise<void> {
    const declared = sources.find(({ kind }) => kind === MANAGED_KIND);
    const other = declared && (await manager.findOneBy(Source, { kind: MANAGED_KIND, origin: 'api' }));
    if (other)
      throw new ConfigurationConflict(
        `sources: ${declared.name} is a second managed source: ${other.name} was already created through the API`,
      );
  }
}
