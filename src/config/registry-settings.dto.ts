import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  Allow,
  ArrayMaxSize,
  ArrayNotEmpty,
  ArrayUnique,
  IsArray,
  IsOptional,
  MaxLength,
  ValidateNested,
} from 'class-validator';
import { type Claims, CLAIMS_SCHEMA } from '../claims/claims.js';
import { member } from '../json/json-values.js';
import { asWritten, type Setting, type Stored } from '../source-kinds/settings-table.js';
import {
  decoratorFor,
  HasUniqueNames,
  IsClaims,
  IsDnsLabel,
  IsFileName,
  IsText,
} from '../validation/decorators.js';
import { parseExpiry, type RegistryKey } from './registry-keys.js';

/** Limited, because a request's key is compared with every key of the registry. */
const MAX_KEYS = 20;

const IsExpiry = decoratorFor(
  'isExpiry',
  (value) => typeof value === 'string' && parseExpiry(value) !== null,
  'must be a date such as 2027-06-30, or an RFC 3339 time such as 2027-06-30T12:00:00Z',
);

/** Read access to a registry without a token (reference/access). */
export class AnonymousSettings {
  /** The claims of callers without a token, who have no roles. */
  @ApiProperty(CLAIMS_SCHEMA) @IsClaims() claims: Claims;
}

/** A key in the URL of a registry, for clients that cannot send a token (reference/access). */
export class RegistryKeySettings {
  /** Name in the audit trail. */
  @ApiProperty({ example: 'copilot' }) @IsDnsLabel() name: string;

  /** File with the key: 43 base64url characters. */
  @ApiProperty({ example: '/run/secrets/copilot' }) @IsFileName() secretFile: string;

  /** The claims of callers with this key, for reads of this registry only. */
  @ApiProperty(CLAIMS_SCHEMA) @IsClaims() claims: Claims;

  /** When the key expires: a time, or a date, which means 00:00 UTC. */
  @ApiPropertyOptional({ example: '2027-06-30' }) @IsOptional() @IsExpiry() expires?: string;
}

/** Serves the plugins and skills of a registry as a plugin marketplace (reference/marketplace). */
export class MarketplaceSettings {
  /** The name under which clients register the marketplace. */
  @ApiProperty({ example: 'acme' }) @IsDnsLabel() name: string;

  /** Shown by clients as the owner. */
  @ApiProperty({ example: 'Acme' }) @IsText() @MaxLength(100) owner: string;
}

/** A registry without its name: an item of `registries:` and the body of `PUT /v1/registries/{name}` (reference/configuration, reference/sources). */
export class RegistrySettings {
  /** Names of sources; if several contain a name, the first source wins. */
  @IsArray()
  @ArrayNotEmpty()
  @ArrayMaxSize(1_000)
  @IsDnsLabel({ each: true })
  @ArrayUnique()
  sources: string[];
  @ApiPropertyOptional(CLAIMS_SCHEMA) @IsOptional() @IsClaims() claims?: Claims;
  /** Opens the registry for reading without a token. */
  @IsOptional() @ValidateNested() @Type(() => AnonymousSettings) anonymous?: AnonymousSettings;
  /** Opens the registry for reading with one of these keys. */
  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MAX_KEYS)
  @HasUniqueNames()
  @ValidateNested({ each: true })
  @Type(() => RegistryKeySettings)
  keys?: RegistryKeySettings[];
  /** Claims of entries that `mcp-publisher` publishes through this registry. If absent, it cannot publish here. */
  @ApiPropertyOptional(CLAIMS_SCHEMA) @IsOptional() @IsClaims() publishClaims?: Claims;
  /** Serves plugins and skills with content as a marketplace. If absent, there is none. */
  @IsOptional() @ValidateNested() @Type(() => MarketplaceSettings) marketplace?: MarketplaceSettings;
}

interface RegistrySetting<Written, Read> extends Setting<Read> {
  /** The claims that the setting grants to callers or entries; its author must hold them. */
  readonly grants: (written: Written) => readonly Claims[];
  /**
   * Whether only callers with `manageRegistries` see the setting. Otherwise, readers also see it under
   * `registryListing: readers`.
   */
  readonly isForManagers: boolean;
}

/**
 * Every setting of a registry except its sources and claims. A new setting compiles only with a row here and
 * a column in `Registry`.
 */
export const REGISTRY_SETTINGS = {
  anonymous: {
    column: 'anonymousClaims',
    stored: (anonymous) => anonymous?.claims ?? null,
    shown: (claims: Claims | null) => (claims ? { claims } : undefined),
    grants: ({ claims }) => [claims],
    isForManagers: false,
  },
  keys: {
    column: 'keys',
    stored: (keys) => keys ?? [],
    shown: (keys: readonly RegistryKey[], origin: 'config' | 'api') =>
      keys.length > 0 ? keys.map((key) => shownKey(key, origin)) : undefined,
    grants: (keys) => keys.map(({ claims }) => claims),
    isForManagers: true,
  },
  publishClaims: {
    column: 'publishClaims',
    ...asWritten<Claims>(),
    grants: (claims) => [claims],
    isForManagers: false,
  },
  marketplace: {
    column: 'marketplace',
    ...asWritten<MarketplaceSettings>(),
    grants: () => [],
    isForManagers: false,
  },
} as const satisfies {
  [K in Exclude<keyof RegistrySettings, 'sources' | 'claims'>]: RegistrySetting<
    NonNullable<RegistrySettings[K]>,
    // Keys are stored with their digests, not only as file paths.
    K extends 'keys' ? readonly RegistryKey[] : NonNullable<RegistrySettings[K]>
  >;
};

/** The settings of a registry, except its sources and claims, as stored. */
export type StoredRegistrySettings = Stored<typeof REGISTRY_SETTINGS>;

/** Returns the claims that the settings give to callers and entries. */
export function grantedClaims(settings: RegistrySettings): Claims[] {
  return Object.entries(REGISTRY_SETTINGS).flatMap(([name, { grants }]) => {
    const written = member(settings, name);
    return written === undefined ? [] : grants(written as never);
  });
}

// Omits the digest, which could be used to confirm a guessed key, and the paths of the operator's secret files.
function shownKey({ name, secretFile, claims, expires }: RegistryKey, origin: 'config' | 'api') {
  return {
    name,
    ...(origin === 'api' ? { secretFile } : {}),
    claims,
    ...(expires === null ? {} : { expires }),
  };
}

/** The body of `PUT /v1/registries/{name}`: it may repeat members that only the server sets (reference/sources). */
export class RegistryBody extends RegistrySettings {
  @Allow() name?: unknown;
  @Allow() origin?: unknown;
  @Allow() createdAt?: unknown;
  @Allow() updatedAt?: unknown;
}

/** The members of a RegistryBody that must match the stored values. */
export const REGISTRY_READ_ONLY = ['name', 'origin', 'createdAt', 'updatedAt'] as const;
