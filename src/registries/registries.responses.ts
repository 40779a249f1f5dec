import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { CLAIMS_SCHEMA } from '../claims/claims.js';
import { MarketplaceSettings } from '../config/registry-settings.dto.js';
import type { RegistryKey } from '../config/registry-keys.js';
import { AdminListMetadata } from '../http/lists.dto.js';
import { contentTag } from '../http/preconditions.js';
import type { Origin } from '../sources/source.entity.js';
import type { ShownRegistry } from './registries.queries.js';

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

  /** The file the key was read from when the registry was saved; absent if the configuration file names it. */
  secretFile?: string;

  @ApiProperty(CLAIMS_SCHEMA)
  claims: object;

  /** The time from which the key is refused; absent if the key does not expire. */
  expires?: string;
}

/** A registry as declared in the configuration. */
export class RegistryAnswer {
  name: string;

  /** In order of precedence: earlier sources shadow later ones. */
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
 * @param isManager whether to show the keys; with `registryListing: readers`, readers get the registry without its
 *   keys.
 */
export function describeRegistry(registry: ShownRegistry, isManager: boolean): RegistryAnswer {
  const { keys, ...declared } = declaredForm(registry);
  return {
    name: registry.name,
    ...declared,
    ...(keys && isManager ? { keys } : {}),
    origin: registry.origin,
    createdAt: registry.createdAt.toISOString(),
    updatedAt: registry.updatedAt.toISOString(),
  };
}

/** Returns the ETag of a registry: a digest of everything a PUT may change. */
export function registryTag({
  sourceNames,
  shownClaims,
  anonymousClaims,
  keys,
  publishClaims,
  marketplace,
}: ShownRegistry): string {
  return contentTag([sourceNames, shownClaims, anonymousClaims, keys, publishClaims, marketplace]);
}

type DeclaredRegistry = Pick<
  RegistryAnswer,
  'sources' | 'claims' | 'anonymous' | 'keys' | 'publishClaims' | 'marketplace'
>;

/** Returns the declaration of a registry (reference/sources), also for the audit trail. */
export function declaredForm(registry: ShownRegistry): DeclaredRegistry {
  const { anonymousClaims, keys, publishClaims, marketplace, origin } = registry;
  return {
    sources: [...registry.sourceNames],
    claims: registry.shownClaims,
    ...(anonymousClaims ? { anonymous: { claims: anonymousClaims } } : {}),
    ...(keys.length > 0 ? { keys: keys.map((key) => describeKey(key, origin)) } : {}),
    ...(publishClaims ? { publishClaims } : {}),
    ...(marketplace ? { marketplace } : {}),
  };
}

// Omits the digest, which could be used to confirm a guessed key, and the paths of the operator's secret files.
function describeKey({ name, secretFile, claims, expires }: RegistryKey, origin: Origin): RegistryKeyAnswer {
  return {
    name,
    ...(origin === 'api' ? { secretFile } : {}),
    claims,
    ...(expires === null ? {} : { expires }),
  };
}
