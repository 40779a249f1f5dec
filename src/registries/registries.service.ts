import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { Caller } from '../auth/caller.js';
import { AccessPolicy } from '../authz/access-policy.js';
import type {
  ResourceAccess,
  ReachableRegistries,
  ReachedPath,
  RegistryGate,
} from '../app/claims.interceptor.js';
import type { View } from '../views/view.js';
import type { RegistrySettings } from '../config/registry-settings.dto.js';
import { type AdminListQuery, pageOf } from '../http/lists/admin-list.js';
import { ApiError } from '../http/errors.js';
import { checkPreconditions, contentTag, type Preconditions } from '../http/preconditions.js';
import { JsonText } from '../http/json-answers.js';
import { RegistriesQueries, type RegistryRow } from './registries.queries.js';
import type { RegistryAnswer, RegistryList } from './registries.responses.js';
import { RegistryLookup } from '../views/registry-lookup.js';
import { RegistryWriter } from './registry-writer.js';
import { Views } from '../views/views.js';

/** The registries: their gate for consumers, and what the admin API knows of them (contract §6, §7). */
@Injectable()
export class RegistriesService implements RegistryGate, ReachableRegistries {
  private readonly writer = new RegistryWriter();

  constructor(
    private readonly dataSource: DataSource,
    private readonly queries: RegistriesQueries,
    private readonly policy: AccessPolicy,
    private readonly lookup: RegistryLookup,
    private readonly views: Views,
  ) {}

  /** spec §1.1: 404 for a registry that is not there, 403 at its gate, else the caller's view of it. */
  async enter(caller: Caller, registryName: string): Promise<View> {
    const registry = await this.lookup.find(registryName);
    if (!registry) throw new ApiError('registry_not_found');
    if (!this.policy.mayReach(caller, registry.claims)) throw new ApiError('registry_forbidden');
    return this.views.of(caller, registry);
  }

  /** The registries whose gate this caller passes. */
  async listEnterable(caller: Caller): Promise<RegistryList> {
    const rows = await this.reachable(caller);
    return {
      registries: rows.map((row) => ({
        name: row.name,
        createdAt: row.createdAt.toISOString(),
        updatedAt: row.updatedAt.toISOString(),
      })),
    };
  }

  async reach(caller: Caller, { name }: ReachedPath, to: ResourceAccess['to']): Promise<void> {
    this.check(caller, await this.queries.findByName(name), to);
  }

  async list(caller: Caller, query: AdminListQuery): Promise<JsonText> {
    const { items, metadata } = pageOf('admin-registries', await this.reachable(caller), query);
    return new JsonText(JSON.stringify({ registries: items.map(describe), metadata }));
  }

  async get(caller: Caller, name: string): Promise<JsonText> {
    return answer(await this.getReachable(caller, name));
  }

  async getReachable(caller: Caller, name: string): Promise<RegistryRow> {
    const row = await this.queries.findByName(name);
    this.check(caller, row, 'read');
    return row;
  }

  /** spec §4.4: the existing claims must be the caller's to satisfy, and the new ones a subset of the caller's. */
  async put(
    caller: Caller,
    name: string,
    { sources, claims = {} }: RegistrySettings,
    preconditions: Preconditions,
  ): Promise<{ created: boolean; answer: JsonText }> {
    this.policy.checkGrant(caller, claims);
    return this.dataSource.transaction(async (manager) => {
      const found = await this.queries.lockByName(name, manager);
      if (found) this.check(caller, found, 'change');
      checkPreconditions(preconditions, found ? tagOf(found) : null);
      await this.checkSources(caller, sources, found, manager);
      await this.writer.put(manager, { name, sources, claims }, 'api', 0);
      const stored = await this.queries.findByName(name, manager);
      if (!stored) throw new Error('A registry that was written is not there');
      return { created: !found, answer: answer(stored) };
    });
  }

  async remove(caller: Caller, name: string, preconditions: Preconditions): Promise<void> {
    await this.dataSource.transaction(async (manager) => {
      const found = await this.queries.lockByName(name, manager);
      this.check(caller, found, 'change');
      checkPreconditions(preconditions, tagOf(found));
      await this.queries.remove(found.id, manager);
    });
  }

  // A source that is hidden from the caller does not exist for them, unless the registry, which they may see, has it.
  private async checkSources(
    caller: Caller,
    names: readonly string[],
    registry: RegistryRow | undefined,
    manager: EntityManager,
  ): Promise<void> {
    const claims = await this.queries.sourceClaims(names, manager);
    const unknown = names.filter((name) => {
      const required = claims.get(name);
      if (!required) return true;
      const isThere = registry?.sources.some((source) => source.name === name) ?? false;
      return !isThere && !this.policy.mayReach(caller, required);
    });
    if (unknown.length > 0)
      throw new ApiError(
        'unknown_source',
        undefined,
        unknown.map((name) => `sources: ${name} is not the name of a source`),
      );
  }

  private async reachable(caller: Caller): Promise<RegistryRow[]> {
    return (await this.queries.all()).filter(({ claims }) => this.policy.mayReach(caller, claims));
  }

  private check(
    caller: Caller,
    row: RegistryRow | undefined,
    to: 'read' | 'change',
  ): asserts row is RegistryRow;
  private check(caller: Caller, row: RegistryRow | undefined, to: ResourceAccess['to']): void;
  private check(caller: Caller, row: RegistryRow | undefined, to: ResourceAccess['to']): void {
    if (row === undefined && to === 'put') return;
    if (!row || !this.policy.mayReach(caller, row.claims)) throw new ApiError('registry_not_found');
    if (to !== 'read' && row.origin === 'config') throw new ApiError('config_managed');
  }
}

function answer(row: RegistryRow): JsonText {
  return new JsonText(JSON.stringify(describe(row)), tagOf(row));
}

function describe(row: RegistryRow): RegistryAnswer {
  return {
    name: row.name,
    sources: row.sources.map(({ name }) => name),
    claims: row.claims,
    origin: row.origin,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}

function tagOf({ sources, claims }: RegistryRow): string {
  return contentTag([sources.map(({ name }) => name), claims]);
}
