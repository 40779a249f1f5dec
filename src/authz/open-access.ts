import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import type { Origin, RegistryConfig } from '../config/config.js';
import type { RegistrySettings } from '../config/registry-settings.dto.js';
import { adminSourcesConfig } from '../config/slices.js';
import { ApiError } from '../http/errors.js';

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
