import { Injectable } from '@nestjs/common';
import type { Caller } from '../auth/caller.js';
import { AccessPolicy } from '../authz/access-policy.js';
import type { Claims } from '../claims/claims.js';
import { EntriesService } from '../entries/entries.service.js';
import { ApiError } from '../http/errors.js';
import { RegistriesRepository } from '../registries/registries.repository.js';
import { useAdminApi } from './unsupported-writes.controller.js';

/** A registry that something can be published through. */
export interface PublishingRegistry {
  readonly name: string;
  /** Those of everything that is published through it. */
  readonly publishClaims: Claims;
}

/** What a request to publish through a registry names. */
export interface PublishingRequest {
  readonly method: string;
  readonly params: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** Lets publishers into registries, before their body is looked at (contract §6.2). */
@Injectable()
export class PublisherGate {
  constructor(
    private readonly registries: RegistriesRepository,
    private readonly entries: EntriesService,
    private readonly policy: AccessPolicy,
  ) {}

  /**
   * The role, the gate of the registry, and the entry that is named, as for `/v1/entries`.
   *
   * @param caller null where nobody has to be known.
   * @throws ApiError 501 for a registry that takes nothing, also one that does not exist; then 403 and 404.
   */
  async enter(caller: Caller | null, { method, params }: PublishingRequest): Promise<PublishingRegistry> {
    const registry = await this.registries.findPublishable(String(params['registry']));
    if (!registry) throw useAdminApi(method);
    if (!caller) return registry;
    if (!this.policy.mayAct(caller, 'manageEntries')) throw new ApiError('role_required');
    if (!this.policy.mayReach(caller, registry.claims))
      throw new ApiError('registry_forbidden', undefined, undefined, { refusedClaims: registry.claims });
    const { name, version } = params;
    if (name !== undefined)
      await this.entries.load(caller, { type: 'server', name: String(name) }, version?.toString());
    return registry;
  }
}
