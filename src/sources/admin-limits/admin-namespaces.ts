import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { adminSourcesConfig } from '../../config/slices.js';
import { ApiError } from '../../http/errors.js';
import type { SettingsOf } from '../../source-kinds/kinds.js';

/**
 * Which namespaces a source of kind kubernetes that was made through the API may watch (contract §2): those of
 * `adminKubernetesNamespaces`, each by its name. Asked when a source is put, and again when it is watched.
 */
@Injectable()
export class AdminNamespaces {
  constructor(
    @Inject(adminSourcesConfig.KEY) private readonly limits: ConfigType<typeof adminSourcesConfig>,
  ) {}

  /** @throws ApiError 400 `namespace_not_allowed`. */
  check(settings: SettingsOf<'kubernetes'>): void {
    const refusal = this.findRefusal(settings);
    if (refusal !== undefined) throw new ApiError('namespace_not_allowed', refusal);
  }

  /** Why it may not watch what it names, as a sentence. */
  findRefusal({ namespaces = [] }: SettingsOf<'kubernetes'>): string | undefined {
    const allowed = this.limits.adminKubernetesNamespaces;
    if (allowed.length === 0)
      return 'Sources of kind kubernetes come from the configuration file alone here: it names no adminKubernetesNamespaces';
    if (namespaces.length === 0)
      return 'A source of kind kubernetes made through the API has to name its namespaces, of those in adminKubernetesNamespaces';
    const refused = namespaces.filter((namespace) => !allowed.includes(namespace));
    return refused.length === 0
      ? undefined
      : `The configuration does not allow these namespaces to sources made through the API: ${refused.join(', ')}; they have to stand in adminKubernetesNamespaces`;
  }
}
