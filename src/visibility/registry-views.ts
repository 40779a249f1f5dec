import { Injectable } from '@nestjs/common';
import type { Caller, Client } from '../auth/caller.js';
import type { EnteredRegistry } from '../auth/route.js';
import { AccessPolicy, type Recorder } from '../authz/access-policy.js';
import { ApiError } from '../http/errors.js';
import { RegistryCallers } from './callers-without-token.js';
import { Partitions } from './partitions.js';
import { RegistryLookup } from './registry-lookup.js';
import { ViewCache } from './view-cache.js';
import type { RegistryAccess, View } from './view.js';
import type { RegistryState } from './views.queries.js';

type Entering = Pick<RegistryAccess, 'caller' | 'client' | 'registryName'>;

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
   * spec §1.1: the gate of a registry, and then the caller's view of it. The database is not asked when all that this takes is
   * remembered: an answer must not rest on that alone (see `RegistryAccess.remembered`). Nobody is refused from memory.
   *
   * @throws ApiError 404 for a registry that does not exist, 403 for one whose claims the caller does not satisfy.
   */
  enter(caller: Caller, client: Client, registryName: string): RegistryAccess | Promise<RegistryAccess> {
    const who = { caller, client, registryName };
    const known = this.callers.registryOf(caller);
    if (known?.name === registryName) return this.enterFound(who, known, {});
    // What a caller without a token holds is not remembered either.
    const registry = known ? undefined : this.lookup.remembered(registryName);
    if (registry && this.policy.mayReach(caller, registry.claims)) {
      const view = this.rememberedView(caller, registry);
      if (view) {
        const remembered = { name: registryName, version: registry.version };
        return { ...who, entered: { claims: registry.claims }, view, remembered };
      }
    }
    return this.enterNow(caller, client, registryName);
  }

  /**
   * The same, looked up for this request.
   *
   * @throws ApiError as `enter`.
   */
  async enterNow(
    caller: Caller,
    client: Client,
    registryName: string,
    record?: Recorder,
  ): Promise<RegistryAccess> {
    return this.enterFound({ caller, client, registryName }, await this.find(registryName), {}, record);
  }

  /**
   * The same access with the view as it is now.
   *
   * @throws ApiError as `enter`: the registry may be gone by now, or its claims may have changed.
   */
  async refresh(access: RegistryAccess): Promise<RegistryAccess> {
    const { caller, client, registryName, view, remembered, entered } = access;
    entered.claims = undefined;
    const registry = await this.find(registryName);
    // The same claims let the caller in, and the same sources at the same revisions show the same.
    if (remembered?.version === registry.version && view.revisions === registry.revisions) {
      entered.claims = registry.claims;
      return { caller, client, registryName, entered, view };
    }
    return this.enterFound(access, registry, entered);
  }

  /** Whether what this access has from memory is still what is remembered. */
  isLatest({ registryName, view, remembered }: RegistryAccess): boolean {
    const latest = this.lookup.remembered(registryName);
    return latest?.version === remembered?.version && latest?.revisions === view.revisions;
  }

  private async find(registryName: string): Promise<RegistryState> {
    const registry = await this.lookup.find(registryName);
    if (!registry) throw new ApiError('registry_not_found');
    return registry;
  }

  private async enterFound(
    { caller, client, registryName }: Entering,
    registry: RegistryState,
    entered: EnteredRegistry,
    record?: Recorder,
  ): Promise<RegistryAccess> {
    entered.claims = registry.claims;
    if (!this.policy.mayReach(caller, registry.claims, record))
      throw new ApiError('registry_forbidden', undefined, undefined, { refusedClaims: registry.claims });
    const view = this.policy.seesAll(caller)
      ? this.cache.ofAll(registry)
      : await this.cache.of(caller, registry, await this.partitions.ofRegistry(registry));
    return { caller, client, registryName, entered, view };
  }

  private rememberedView(caller: Caller, registry: RegistryState): View | undefined {
    if (this.policy.seesAll(caller)) return this.cache.ofAll(registry);
    const partitions = this.partitions.remembered(registry);
    return partitions && this.cache.remembered(caller, registry, partitions);
  }
}
