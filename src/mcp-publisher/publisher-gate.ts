import { Injectable } from '@nestjs/common';
import type { Caller } from '../auth/caller.js';
import { AccessPolicy } from '../authz/access-policy.js';
import type { Claims } from '../claims/claims.js';
import { EntriesService } from '../entries/entries.service.js';
import { ApiError } from '../http/errors.js';
import { RegistriesRepository } from '../registries/registries.repository.js';
import { useAdminApi } from './unsupported-writes.controller.js';

export interface PublishingRegistry {
  readonly name: string;
  /** The claims given to every entry published through the registry. */
  readonly publishClaims: Claims;
}

export interface PublishingRequest {
  readonly method: string;
  readonly params: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** Checks a publisher's access to a registry before the body is read (reference/publishing). */
@Injectable()
export class PublisherGate {
  constructor(
    private readonly registries: RegistriesRepository,
    private readonly entries: EntriesService,
    private readonly policy: AccessPolicy,
  ) {}

  /**
   * Checks the role, the registry's gate and the entry, like `/v1/entries`.
   *
   * @param caller null on public routes.
   * @throws ApiError 501 for an unknown registry or a registry without `publishClaims`; otherwise 403 or 404.
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
