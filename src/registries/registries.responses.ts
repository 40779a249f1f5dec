import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { CLAIMS_SCHEMA } from '../claims/claim-rules.js';
import type { RegistryKey } from '../config/registry-keys.js';
import { AdminListMetadata } from '../http/lists.dto.js';
import { contentTag } from '../http/preconditions.js';
import type { Registry } from './registry.entity.js';

export class RegistrySummary {
  /** The name that stands in the path of the consumer API. */
  name: string;

  @ApiProperty({ format: 'date-time' })
  createdAt: string;

  @ApiProperty({ format: 'date-time' })
  updatedAt: string;
}

export class RegistryList {
  registries: RegistrySummary[];
}

/** What a caller without a token holds in its reads. */
export class AnonymousAnswer {
  @ApiProperty(CLAIMS_SCHEMA)
  claims: object;
}

/** A key, but for what makes it one. */
export class RegistryKeyAnswer {
  name: string;

  /** The file that held it when the registry was put. */
  secretFile: string;

  @ApiProperty(CLAIMS_SCHEMA)
  claims: object;

  /** From then on it is refused; absent: never. */
  expires?: string;
}

/** A registry as the configuration declares it. */
export class RegistryAnswer {
  name: string;

  /** In the order in which they win when a name is in several. */
  sources: string[];

  @ApiProperty(CLAIMS_SCHEMA)
  claims: object;

  /** Absent: its readers need a token, or a key. */
  anonymous?: AnonymousAnswer;

  /** For those who may manage registries. Absent: there are none. */
  keys?: RegistryKeyAnswer[];

  /** The claims of what `mcp-publisher` publishes through it; absent: it takes nothing. */
  @ApiPropertyOptional(CLAIMS_SCHEMA)
  publishClaims?: object;

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
 * A registry as the admin API shows it (contract §7).
 *
 * @param isManager with `registryListing: readers` everybody who reads a registry may get it: which keys there are is for its managers.
 */
export function describeRegistry(registry: Registry, isManager: boolean): RegistryAnswer {
  const { anonymousClaims, publishClaims } = registry;
  const keys = isManager ? registry.keys : [];
  return {
    name: registry.name,
    sources: registry.sourceNames,
    claims: registry.shownClaims,
    ...(anonymousClaims ? { anonymous: { claims: anonymousClaims } } : {}),
    ...(keys.length > 0 ? { keys: keys.map(describeKey) } : {}),
    ...(publishClaims ? { publishClaims } : {}),
    origin: registry.origin,
    createdAt: registry.createdAt.toISOString(),
    updatedAt: registry.updatedAt.toISOString(),
  };
}

/** The ETag of a registry: of what a PUT may change. */
export function registryTag({
  sourceNames,
  shownClaims,
  anonymousClaims,
  keys,
  publishClaims,
}: Registry): string {
  return contentTag([sourceNames, shownClaims, anonymousClaims, keys, publishClaims]);
}

// Never the digest: it tells whether a guess is right.
function describeKey({ name, secretFile, claims, expires }: RegistryKey): RegistryKeyAnswer {
  return { name, secretFile, claims, ...(expires === null ? {} : { expires }) };
}

/** A registry as it is declared (contract §7), for the audit trail. */
export function declaredForm(registry: Registry): object {
  const { anonymousClaims, keys, publishClaims } = registry;
  return {
    sources: registry.sourceNames,
    claims: registry.shownClaims,
    ...(anonymousClaims ? { anonymous: { claims: anonymousClaims } } : {}),
    ...(keys.length > 0 ? { keys: keys.map(describeKey) } : {}),
    ...(publishClaims ? { publishClaims } : {}),
  };
}
