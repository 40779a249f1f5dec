import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { DataSource, type EntityManager } from 'typeorm';
import { AuditTrail, resourceChange } from '../audit/audit-trail.js';
import type { Caller } from '../auth/caller.js';
import type { ResourceUse } from '../auth/route.js';
import { AccessPolicy, type Recorder } from '../authz/access-policy.js';
import { checkAdminAccess, OpenAccess } from '../authz/admin-access.js';
import type { RegistryConfig } from '../config/config.js';
import {
  grantedClaims,
  REGISTRY_READ_ONLY,
  REGISTRY_SETTINGS,
  type RegistryBody,
} from '../config/registry-settings.dto.js';
import { limitsConfig } from '../config/slices.js';
import { ApiError } from '../http/errors.js';
import { JsonText } from '../http/json-answers.js';
import { type AdminListQuery, listPage } from '../http/lists.js';
import { checkPreconditions, type Preconditions } from '../http/preconditions.js';
import type { RequestContext } from '../http/request-context.js';
import { checkReadOnlyMembers } from '../http/validation.pipe.js';
import type { Plain } from '../json/plain.js';
import { toStored } from '../source-kinds/settings-table.js';
import { checkSettingsLength } from '../sources/admin-limits.js';
import { type SourceRow, SourcesRepository } from '../sources/sources.repository.js';
import { RegistriesRepository, type RegistryRow } from './registries.repository.js';
import {
  auditedRegistry,
  describeRegistry,
  type RegistryAnswer,
  registryTag,
} from './registries.responses.js';
import { AdminKeys, RegistryWriter } from './registry-writer.js';
import { Registry } from './registry.entity.js';
import { ReachableClaimSets } from '../authz/reachable-claim-sets.queries.js';

/** Manages registries through the admin API (reference/sources). */
@Injectable()
export class RegistriesService {
  constructor(
    private readonly audit: AuditTrail,
    private readonly registries: RegistriesRepository,
    private readonly sources: SourcesRepository,
    private readonly writer: RegistryWriter,
    private readonly policy: AccessPolicy,
    private readonly adminKeys: AdminKeys,
    private readonly openAccess: OpenAccess,
    private readonly reachable: ReachableClaimSets,
    private readonly dataSource: DataSource,
    @Inject(limitsConfig.KEY) private readonly limits: ConfigType<typeof limitsConfig>,
  ) {}

  /** Returns the registries whose claims the caller covers, in order. */
  async listReachable(caller: Caller): Promise<RegistryRow[]> {
    const rows = await this.registries.rows();
    const reachable = await this.reachable.among(this.dataSource.manager, caller, rows);
    return rows.filter(({ claimSetId }) => reachable.has(claimSetId));
  }

  /**
   * Loads the registry that a request is about.
   *
   * @returns null only if `use` is `put`, which then creates the registry.
   * @throws ApiError 404 if the registry is missing or hidden from the caller, 403 for a change to a read-only
   *   registry.
   */
  async load(caller: Caller, name: string, use: ResourceUse, record?: Recorder): Promise<Registry | null> {
    const registry = await this.registries.findByName(name);
    if (registry || use !== 'put')
      checkAdminAccess(this.policy, caller, registry, use, 'registry_not_found', record);
    return registry;
  }

  async list(caller: Caller, query: AdminListQuery): Promise<JsonText> {
    const rows = await this.listReachable(caller);
    const reachable = new Set(rows.map(({ claimSetId }) => claimSetId));
    const page = await listPage('registries', rows, query, false, async (next) => {
      const loaded = await this.registries.loadFirst(next);
      // The claims may have changed since the rows were read.
      return loaded.map((registry) => ({
        name: registry.name,
        answer: reachable.has(registry.claimSetId) ? this.describe(caller, registry) : null,
      }));
    });
    return new JsonText(page);
  }

  get(caller: Caller, registry: Registry, isCreated = false): JsonText {
    return new JsonText(JSON.stringify(this.describe(caller, registry)), registryTag(registry), isCreated);
  }

  /**
   * reference/sources: the caller must cover the existing claims, and the new claims must be a subset of the caller's claims.
   */
  async put(
    caller: Caller,
    name: string,
    body: RegistryBody,
    preconditions: Preconditions,
    context: RequestContext,
  ): Promise<JsonText> {
    const declared = await this.declare(caller, name, body);
    return this.audit.transaction({ caller, context }, async (manager) => {
      const found = await this.registries.lockByName(manager, name);
      if (found) checkAdminAccess(this.policy, caller, found, 'put', 'registry_not_found');
      checkPreconditions(preconditions, found ? registryTag(found) : null);
      checkReadOnlyMembers(body, REGISTRY_READ_ONLY, found ? this.describe(caller, found) : { name });
      const sources = await this.lockSources(manager, caller, declared.sources, found);
      if (!found && (await this.registries.countMade(manager)) >= this.limits.apiRegistries)
        throw new ApiError('too_many_registries');
      const before = found && auditedRegistry(found);
      const { registry, outcome } = await this.writer.put(manager, found, declared, sources, 'api', 0);
      return {
        result: this.get(caller, registry, !found),
        events:
          outcome === 'unchanged'
            ? []
            : [resourceChange('registry', name, before, auditedRegistry(registry))],
      };
    });
  }

  async remove(
    caller: Caller,
    name: string,
    preconditions: Preconditions,
    context: RequestContext,
  ): Promise<void> {
    await this.audit.transaction({ caller, context }, async (manager) => {
      const found = await this.registries.lockByName(manager, name);
      checkAdminAccess(this.policy, caller, found, 'change', 'registry_not_found');
      checkPreconditions(preconditions, registryTag(found));
      await this.registries.remove(manager, found);
      return { result: undefined, events: [resourceChange('registry', name, auditedRegistry(found), null)] };
    });
  }

  /**
   * Checks settings as `put` does, and finds their sources, without locking or writing anything.
   *
   * @param registry the stored registry; null for a new one.
   * @throws ApiError the errors of `put` with these settings.
   */
  async propose(
    caller: Caller,
    name: string,
    body: RegistryBody,
    registry: Registry | null,
  ): Promise<{ readonly declared: RegistryConfig; readonly sources: readonly SourceRow[] }> {
    const declared = await this.declare(caller, name, body);
    const { manager } = this.dataSource;
    const found = await this.sources.findByNames(manager, declared.sources);
    const visible = await this.visibleOf(manager, caller, found, registry);
    const byName = new Map(visible.map((source) => [source.name, source]));
    const sources = declared.sources.flatMap((each) => byName.get(each) ?? []);
    checkAllKnown(declared.sources, sources);
    return { declared, sources };
  }

  /** Checks settings as far as they can be checked without the stored registry. */
  private async declare(caller: Caller, name: string, body: RegistryBody): Promise<RegistryConfig> {
    checkSettingsLength(body, REGISTRY_READ_ONLY);
    this.openAccess.check(body);
    const { sources, claims = {} } = body;
    this.policy.checkGrant(caller, claims);
    for (const granted of grantedClaims(body)) this.policy.checkDelegation(caller, granted);
    const keys = await this.adminKeys.read(caller, body.keys ?? [], claims);
    return { name, sources, claims, ...toStored(REGISTRY_SETTINGS, { ...body, keys }) };
  }

  private async lockSources(
    manager: EntityManager,
    caller: Caller,
    names: readonly string[],
    registry: Registry | null,
  ): Promise<SourceRow[]> {
    // Locks only visible sources, because waiting for a hidden one would reveal that it exists.
    const found = await this.sources.findByNames(manager, names);
    const visible = new Set((await this.visibleOf(manager, caller, found, registry)).map(nameOf));
    const locked = await this.sources.shareByNames(
      manager,
      names.filter((name) => visible.has(name)),
    );
    const sources = await this.visibleOf(manager, caller, locked, registry);
    checkAllKnown(names, sources);
    return sources;
  }

  // Sources hidden from the caller count as unknown, unless the registry already contains them.
  private async visibleOf(
    manager: EntityManager,
    caller: Caller,
    rows: readonly SourceRow[],
    registry: Registry | null,
  ): Promise<SourceRow[]> {
    const held = new Set(registry?.sourceNames);
    const reachable = await this.reachable.among(manager, caller, rows);
    return rows.filter(({ name, claimSetId }) => held.has(name) || reachable.has(claimSetId));
  }

  private describe(caller: Caller, registry: Registry): Plain<RegistryAnswer> {
    return describeRegistry(registry, this.policy.mayAct(caller, 'manageRegistries'));
  }
}

/** @throws ApiError 400 `unknown_source`. */
function checkAllKnown(names: readonly string[], sources: readonly SourceRow[]): void {
  const found = new Set(sources.map(nameOf));
  const unknown = names.filter((name) => !found.has(name));
  if (unknown.length > 0)
    throw new ApiError(
      'unknown_source',
      `No source is called ${unknown.map((name) => JSON.stringify(name)).join(', ')}`,
      unknown.map((name) => `sources: ${name} is not the name of a source`),
    );
}

function nameOf({ name }: SourceRow): string {
  return name;
}
