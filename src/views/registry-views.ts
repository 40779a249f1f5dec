import { Injectable } from '@nestjs/common';
import type { Caller } from '../auth/caller.js';
import type { Client } from '../auth/client.js';
import { AccessPolicy } from '../authz/access-policy.js';
import { ApiError } from '../http/errors.js';
import { Partitions } from './partitions.js';
import { RegistryCallers } from './registry-callers.js';
import { RegistryLookup } from './registry-lookup.js';
import type { RegistryAccess } from './view.js';
import { ViewCache } from './view-cache.js';
import type { RegistryState } from './views.queries.js';

/** Lets callers into registries: the gate, and what each of them sees of the registry. */
@Injectable()
export class RegistryViews {
  private readonly cache: ViewCache;

  constructor(
    private readonly lookup: RegistryLookup,
    private readonly partitions: Partitions,
    private readonly policy: AccessPolicy,
    private readonly callers: RegistryCallers,
  ) {
    this.cache = new ViewCache(policy);
  }

  /**
   * spec §1.1: the gate of a registry, and then the caller's view of it.
   *
   * @throws ApiError 404 for a registry that does not exist, 403 for one whose claims the caller does not satisfy.
   */
  async enter(caller: Caller, client: Client, registryName: string): Promise<RegistryAccess> {
    const known = this.callers.registryOf(caller);
    const registry = known?.name === registryName ? known : await this.lookup.find(registryName);
    if (!registry) throw new ApiError('registry_not_found');
    return this.enterFound(caller, client, registry);
  }

  /**
   * The same access with the view as it is now.
   *
   * @throws ApiError as `enter`: the registry may be gone by now, or its claims may have changed.
   */
  async refresh({ caller, client, registryName }: RegistryAccess): Promise<RegistryAccess> {
    const registry = await this.lookup.find(registryName);
    if (!registry) throw new ApiError('registry_not_found');
    return this.enterFound(caller, client, registry);
  }

  private async enterFound(caller: Caller, client: Client, registry: RegistryState): Promise<RegistryAccess> {
    if (!this.policy.mayReach(caller, registry.claims))
      throw new ApiError('registry_forbidden', undefined, undefined, { refusedClaims: registry.claims });
    const view = this.policy.seesAll(caller)
      ? this.cache.ofAll(registry)
      : await this.cache.of(caller, registry, await this.partitions.ofRegistry(registry));
    return { caller, client, registryName: registry.name, registryClaims: registry.claims, view };
  }
}
