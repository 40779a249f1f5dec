import { Injectable } from '@nestjs/common';
import type { Caller } from '../auth/caller.js';
import { AccessPolicy } from '../authz/access-policy.js';
import type { RegistryGate } from '../authz/claims.interceptor.js';
import type { View } from '../authz/view.js';
import { ApiError } from '../http/errors.js';
import { RegistriesQueries } from './registries.queries.js';
import type { RegistryList } from './registries.responses.js';

@Injectable()
export class RegistriesService implements RegistryGate {
  constructor(
    private readonly queries: RegistriesQueries,
    private readonly policy: AccessPolicy,
  ) {}

  /** spec §1.1: 404 for a registry that is not there, else the caller's view of it. */
  async enter(caller: Caller, registryName: string): Promise<View> {
    const registry = isStorable(registryName) ? await this.queries.findByName(registryName) : undefined;
    if (!registry) throw new ApiError('registry_not_found');
    const partitions = await this.queries.partitions(registry.id);
    const visible = this.policy.visibleClaimSets(caller, [...new Set(partitions.map((p) => p.claimSetId))]);
    return { partitions: partitions.filter((partition) => visible.has(partition.claimSetId)) };
  }

  async list(): Promise<RegistryList> {
    const rows = await this.queries.all();
    return {
      registries: rows.map((row) => ({
        name: row.name,
        createdAt: row.createdAt.toISOString(),
        updatedAt: row.updatedAt.toISOString(),
      })),
    };
  }
}

// PostgreSQL takes no NUL in text: such a name exists nowhere, so nobody has to ask.
function isStorable(text: string): boolean {
  return !text.includes('\0');
}
