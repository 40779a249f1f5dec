import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import type { Caller } from '../auth/caller.js';
import type { ResourceUse } from '../auth/route.js';
import type { Claims } from '../claims/claims.js';
import type { Origin, RegistryConfig } from '../config/config.js';
import type { RegistrySettings } from '../config/registry-settings.dto.js';
import { adminSourcesConfig } from '../config/slices.js';
import { ApiError } from '../http/errors.js';
import type { AccessPolicy, Recorder } from './access-policy.js';

/** A source or a registry. */
interface Resource {
  readonly claims: Claims;
  readonly origin: 'config' | 'api';
}

/**
 * Checks that an admin API caller may see a source or registry and, if `use` is a change, may change it (reference/errors).
 *
 * @throws ApiError 404 `notFound` if the resource is missing or hidden from the caller; 403 `config_managed` for a
 *   change to a resource declared in the configuration file.
 */
export function checkAdminAccess<R extends Resource>(
  policy: AccessPolicy,
  caller: Caller,
  resource: R | null,
  use: ResourceUse,
  notFound: 'source_not_found' | 'registry_not_found',
  record?: Recorder,
): asserts resource is R {
  if (!resource || !policy.mayReach(caller, resource.claims, record))
    throw new ApiError(notFound, undefined, undefined, { refusedClaims: resource?.claims });
  if (use !== 'read' && resource.origin === 'config')
    throw new ApiError('config_managed', undefined, undefined, { refusedClaims: resource.claims });
}

type Opening = Pick<RegistryConfig, 'anonymousClaims' | 'keys'>;

/** Decides whether a registry may be open to callers without a token (reference/configuration, `adminOpenAccess`). */
@Injectable()
export class OpenAccess {
  constructor(
    @Inject(adminSourcesConfig.KEY)
    private readonly admin: Pick<ConfigType<typeof adminSourcesConfig>, 'adminOpenAccess'>,
  ) {}

  /** @throws ApiError 403 `config_only` if the settings open a registry created through the API. */
  check({ anonymous, keys = [] }: Pick<RegistrySettings, 'anonymous' | 'keys'>): void {
    if (this.isAllowed('api') || (anonymous === undefined && keys.length === 0)) return;
    throw new ApiError('config_only');
  }

  isAllowed(origin: Origin): boolean {
    return origin === 'config' || this.admin.adminOpenAccess;
  }

  /** Returns the `anonymous` claims and the keys of a stored registry that are in effect. */
  inEffect({ origin, anonymousClaims, keys }: Opening & { readonly origin: Origin }): Opening {
    return this.isAllowed(origin) ? { anonymousClaims, keys } : { anonymousClaims: null, keys: [] };
  }
}
