import type { Claims } from '../claims/claims.js';
import type { Plain } from '../json/plain.js';
import type { AdmissionSettings } from '../source-kinds/admission-settings.dto.js';
import type { SettingsOf, SourceKind } from '../source-kinds/kinds.js';
import type { StoredSourceSettings } from '../source-kinds/source-settings.dto.js';
import type { MarketplaceSettings, StoredRegistrySettings } from './registry-settings.dto.js';

/** A declared source; `kind` determines the type of `settings`. */
export type SourceConfig<K extends SourceKind = SourceKind> = {
  [P in K]: StoredSourceSettings & {
    readonly name: string;
    readonly kind: P;
    readonly settings: SettingsOf<P>;
    readonly claims: Claims;
  };
}[K];

/** Which versions of a source are admitted. */
export type AdmissionConfig = Plain<AdmissionSettings>;

export interface RegistryConfig extends StoredRegistrySettings {
  readonly name: string;
  readonly sources: readonly string[];
  readonly claims: Claims;
}

/** How a registry appears to clients that install plugins (reference/marketplace). */
export type MarketplaceConfig = Plain<MarketplaceSettings>;
