import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { AuditTrail } from '../audit/audit-trail.js';
import type { Caller } from '../auth/caller.js';
import type { ResourceUse } from '../auth/route.js';
import { AccessPolicy, type Recorder } from '../authz/access-policy.js';
import { checkAdminAccess } from '../authz/admin-access.js';
import { REGISTRY_READ_ONLY, type RegistryBody } from '../config/registry-settings.dto.js';
import { ApiError } from '../http/errors.js';
import { JsonText } from '../http/json-answers.js';
import { type AdminListQuery, pageOf } from '../http/lists.js';
import { checkPreconditions, type Preconditions } from '../http/preconditions.js';
import type { RequestContext } from '../http/request-context.js';
import { checkReadOnlyMembers } from '../http/validation.pipe.js';
import type { Source } from '../sources/source.entity.js';
import { SourcesRepository } from '../sources/sources.repository.js';
import { RegistriesRepository } from './registries.repository.js';
import { declaredForm, describeRegistry, type RegistryAnswer, registryTag } from './registries.responses.js';
import { AdminKeys, RegistryWriter } from './registry-writer.js';
import { Registry } from './registry.entity.js';

/** Manages registries through the admin API (contract §7). */
@Injectable()
export class RegistriesService {
  constructor(
    private readonly audit: AuditTrail,
    private readonly registries: RegistriesRepository,
    private readonly sources: SourcesRepository,
    private readonly writer: RegistryWriter,
    private readonly policy: AccessPolicy,
    private readonly adminKeys: AdminKeys,
  ) {}

  /** Returns the registries whose claims the caller covers, in order. */
  async listReachable(caller: Caller): Promise<Registry[]> {
    return (await this.registries.all()).filter(({ claims }) => this.policy.mayReach(caller, claims));
  }

  /**
   * Loads the registry that a request names.
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
    const { items, metadata } = pageOf('admin-registries', await this.listReachable(caller), query, false);
    return new JsonText(
      JSON.stringify({ registries: items.map((item) => this.describe(caller, item)), metadata }),
    );
  }

  get(caller: Caller, registry: Registry): JsonText {
    return new JsonText(JSON.stringify(this.describe(caller, registry)), registryTag(registry));
  }

  /**
   * spec §4.4: the caller must cover the existing claims, and the new claims must be a subset of the caller's claims.
   */
  async put(
    caller: Caller,
    name: string,
    body: RegistryBody,
    preconditions: Preconditions,
    context: RequestContext,
  ): Promise<{ created: boolean; answer: JsonText }> {
    const { sources: sourceNames, claims = {}, anonymous, keys: sentKeys = [], publishClaims = null } = body;
    this.policy.checkGrant(caller, claims);
    const delegated = [anonymous?.claims, ...sentKeys.map((key) => key.claims), publishClaims];
    for (const held of delegated) if (held) this.policy.checkDelegation(caller, held);
    const keys = await this.adminKeys.read(caller, sentKeys, claims);
    return this.audit.transaction({ caller, context }, async (manager, record) => {
      const found = await this.registries.lockByName(manager, name);
      if (found) checkAdminAccess(this.policy, caller, found, 'put', 'registry_not_found');
      checkPreconditions(preconditions, found ? registryTag(found) : null);
      checkReadOnlyMembers(body, REGISTRY_READ_ONLY, found ? this.describe(caller, found) : { name });
      const sources = await this.getSources(manager, caller, sourceNames, found);
      const anonymousClaims = anonymous?.claims ?? null;
      const declared = { name, sources: sourceNames, claims, anonymousClaims, keys, publishClaims };
      const before = found && { claims: found.shownClaims, form: declaredForm(found) };
      const { registry, outcome } = await this.writer.put(manager, found, declared, sources, 'api', 0);
      if (outcome !== 'unchanged')
        await record({
          action: found ? 'registry.update' : 'registry.create',
          target: { type: 'registry', name },
          claims: [...(before ? [before.claims] : []), registry.shownClaims],
          change: { ...(before ? { before: before.form } : {}), after: declaredForm(registry) },
        });
      return { created: !found, answer: this.get(caller, registry) };
    });
  }

  async remove(
    caller: Caller,
    name: string,
    preconditions: Preconditions,
    context: RequestContext,
  ): Promise<void> {
    await this.audit.transaction({ caller, context }, async (manager, record) => {
      const found = await this.registries.lockByName(manager, name);
      checkAdminAccess(this.policy, caller, found, 'change', 'registry_not_found');
      checkPreconditions(preconditions, registryTag(found));
      await record({
        action: 'registry.delete',
        target: { type: 'registry', name },
        claims: [found.claims],
        change: { before: declaredForm(found) },
      });
      await this.registries.remove(manager, found);
    });
  }

  // Sources hidden from the caller count as unknown, unless the registry already contains them.
  private async getSources(
    manager: EntityManager,
    caller: Caller,
    names: readonly string[],
    registry: Registry | null,
  ): Promise<Source[]> {
    const held = registry?.sourceNames ?? [];
    const isVisible = ({ name, claims }: Source) =>
      held.includes(name) || this.policy.mayReach(caller, claims);
    // Locks only visible sources, because waiting for a hidden one would reveal that it exists.
    const visible = (await this.sources.findByNames(manager, names)).filter(isVisible);
    const inOrder = names.filter((name) => visible.some((source) => source.name === name));
    const sources = (await this.sources.shareByNames(manager, inOrder)).filter(isVisible);
    const unknown = names.filter((name) => !sources.some((source) => source.name === name));
    if (unknown.length > 0)
      throw new ApiError(
        'unknown_source',
        `No source is called ${unknown.map((name) => JSON.stringify(name)).join(', ')}`,
        unknown.map((name) => `sources: ${name} is not the name of a source`),
      );
    return sources;
  }

  private describe(caller: Caller, registry: Registry): RegistryAnswer {
    return describeRegistry(registry, this.policy.mayAct(caller, 'manageRegistries'));
  }
}
