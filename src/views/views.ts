import { Injectable } from '@nestjs/common';
import type { Caller } from '../auth/caller.js';
import { AccessPolicy } from '../authz/access-policy.js';
import type { View } from './view.js';
import { Partitions } from './partitions.js';
import type { RegistryRow } from '../registries/registries.queries.js';
import { ViewCache } from './view-cache.js';

/** What callers see of registries. */
@Injectable()
export class Views {
  private readonly remembered: ViewCache;

  constructor(
    private readonly partitions: Partitions,
    policy: AccessPolicy,
  ) {
    this.remembered = new ViewCache(policy);
  }

  async of(caller: Caller, registry: RegistryRow): Promise<View> {
    return this.remembered.of(caller, registry, await this.partitions.of(registry));
  }
}
