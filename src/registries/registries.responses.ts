import { ApiProperty, ApiPropertyOptional, OmitType } from '@nestjs/swagger';
import type { AuditedForm } from '../audit/audit-trail.js';
import { CLAIMS_SCHEMA } from '../claims/claims.js';
import { MarketplaceSettings, REGISTRY_SETTINGS, RegistrySettings } from '../config/registry-settings.dto.js';
import { AdminListMetadata } from '../http/lists.dto.js';
import { contentTag } from '../http/preconditions.js';
import type { Plain } from '../json/plain.js';
import { storedIn, toShown } from '../source-kinds/settings-table.js';
import type { Registry } from './registry.entity.js';

export class RegistrySummary {
  /** The name used in consumer API paths. */
  name: string;

  @ApiProperty({ format: 'date-time' })
  createdAt: string;

  @ApiProperty({ format: 'date-time' })
  updatedAt: string;
}

export class RegistryList {
  registries: RegistrySummary[];
}

/** The claims granted to callers without a token. */
export class AnonymousAnswer {
  @ApiProperty(CLAIMS_SCHEMA)
  claims: object;
}

/** A registry key without its secret. */
export class RegistryKeyAnswer {
  name: string;

  /** The file from which the key was read when the registry was saved; absent for keys from the configuration file. */
  secretFile?: string;

  @ApiProperty(CLAIMS_SCHEMA)
  claims: object;

  /** The time from which the key is refused; absent if the key does not expire. */
  expires?: string;
}

/** The settings with a different description in responses; all others are shown as written. */
const DESCRIBED_HERE = ['sources', 'claims', 'anonymous', 'keys', 'publishClaims', 'marketplace'] as const;

/** A registry as declared in the configuration. */
export class RegistryAnswer extends OmitType(RegistrySettings, DESCRIBED_HERE) {
  name: string;

  /** The sources in order of precedence: earlier ones shadow later ones. */
  sources: string[];

  @ApiProperty(CLAIMS_SCHEMA)
  claims: object;

  /** Absent if readers need a token or a key. Without `adminOpenAccess` it has no effect if the origin is `api`. */
  anonymous?: AnonymousAnswer;

  /** Shown to callers with `manageRegistries`; absent if the registry has no keys. In effect like `anonymous`. */
  keys?: RegistryKeyAnswer[];

  /** The claims given to entries that `mcp-publisher` publishes; absent if publishing is disabled. */
  @ApiPropertyOptional(CLAIMS_SCHEMA)
  publishClaims?: object;

  /** Absent if the registry is not served as a marketplace. */
  @ApiPropertyOptional({ type: MarketplaceSettings })
  marketplace?: object;

  @ApiProperty({ enum: ['config', 'api'] })
  origin: string;

  @ApiProperty({ format: 'date-time' })
  createdAt: string;

  @ApiProperty({ format: 'date-time' })
  updatedAt: string;
}

export class RegistryAnswerList {
  registries: RegistryAnswer[];
  metadata: AdminListMetadata;
}

/**
 * Returns a registry as the admin API shows it (reference/sources).
 *
 * @param isManager whether to show everything; with `registryListing: readers`, readers do not see the keys.
 */
export function describeRegistry(registry: Registry, isManager: boolean): Plain<RegistryAnswer> {
  const { sources, claims, ...settings } = declaredRegistry(registry);
  const shown = Object.entries(settings).filter(([name]) => isManager || !FOR_MANAGERS.includes(name));
  return {
    name: registry.name,
    sources,
    claims,
    ...Object.fromEntries(shown),
    origin: registry.origin,
    createdAt: registry.createdAt.toISOString(),
    updatedAt: registry.updatedAt.toISOString(),
  };
}

const FOR_MANAGERS = Object.entries(REGISTRY_SETTINGS).flatMap(([name, { isForManagers }]) =>
  isForManagers ? [name] : [],
);

/** Returns the ETag of a registry: a digest of everything a PUT may change. */
export function registryTag(registry: Registry): string {
  const settings = Object.values(storedIn(REGISTRY_SETTINGS, registry));
  return contentTag([registry.sourceNames, registry.shownClaims, ...settings]);
}

/** Returns the declaration of a registry (reference/sources) and its claims for the audit trail. */
export function auditedRegistry(registry: Registry, more: object = {}): AuditedForm {
  return { claims: registry.shownClaims, form: { ...declaredRegistry(registry), ...more } };
}

function declaredRegistry(registry: Registry): Pick<Plain<RegistryAnswer>, keyof RegistrySettings> {
  return {
    sources: registry.sourceNames,
    claims: registry.shownClaims,
    ...toShown(REGISTRY_SETTINGS, registry, registry.origin),
  };
}
