import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { type Claims, CLAIMS_SCHEMA } from '../claims/claims.js';
import { member } from '../json/json-values.js';
import {
  IsClaims,
  IsDnsLabel,
  IsOptional,
  IsText,
  Validate,
  ValidateClass,
  ValidateNested,
} from '../validation/class-validation.js';
import {
  anything,
  below,
  dnsLabel,
  foundKind,
  type Issue,
  issue,
  listOf,
  text,
  textUpTo,
} from '../validation/value-checks.js';
import { parseExpiry } from './registry-keys.js';

/** Limited, because a request's key is compared with every key of the registry. */
const MAX_KEYS = 20;

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
  @ApiProperty({ example: '/run/secrets/copilot' }) @IsText() secretFile: string;

  /** The claims of callers with this key, for reads of this registry only. */
  @ApiProperty(CLAIMS_SCHEMA) @IsClaims() claims: Claims;

  /** When the key expires: a time, or a date, which means 00:00 UTC. */
  @ApiPropertyOptional({ example: '2027-06-30' }) @IsOptional() @Validate(expiry) expires?: string;
}

const MAX_OWNER_CHARACTERS = 100;

/** Serves the plugins and skills of a registry as a plugin marketplace (reference/marketplace). */
export class MarketplaceSettings {
  /** The name under which clients register the marketplace. */
  @ApiProperty({ example: 'acme' }) @IsDnsLabel() name: string;

  /** Shown by clients as the owner. */
  @ApiProperty({ example: 'Acme' }) @Validate(ownerName) owner: string;
}

/** A registry without its name: an item of `registries:` and the body of `PUT /v1/registries/{name}` (reference/configuration, reference/sources). */
@ValidateClass<RegistrySettings>(({ keys }) => (Array.isArray(keys) ? keyIssues(keys) : []))
export class RegistrySettings {
  /** Names of sources; if several contain a name, the first source wins. */
  @Validate(listOf(dnsLabel, { notEmpty: true, unique: true })) sources: string[];
  @ApiPropertyOptional(CLAIMS_SCHEMA) @IsOptional() @IsClaims() claims?: Claims;
  /** Opens the registry for reading without a token. */
  @IsOptional() @ValidateNested(() => AnonymousSettings) anonymous?: AnonymousSettings;
  /** Opens the registry for reading with one of these keys. */
  @IsOptional()
  @ValidateNested(() => RegistryKeySettings, { each: true, most: MAX_KEYS })
  keys?: RegistryKeySettings[];
  /** Claims of entries that `mcp-publisher` publishes through this registry; absent: publishing is not possible. */
  @ApiPropertyOptional(CLAIMS_SCHEMA) @IsOptional() @IsClaims() publishClaims?: Claims;
  /** Serves plugins and skills with content as a marketplace; absent: not served. */
  @IsOptional() @ValidateNested(() => MarketplaceSettings) marketplace?: MarketplaceSettings;
}

/** The body of `PUT /v1/registries/{name}`: it may repeat members that only the server sets (reference/sources). */
export class RegistryBody extends RegistrySettings {
  @IsOptional() @Validate(anything) name?: unknown;
  @IsOptional() @Validate(anything) origin?: unknown;
  @IsOptional() @Validate(anything) createdAt?: unknown;
  @IsOptional() @Validate(anything) updatedAt?: unknown;
}

/** The members of a RegistryBody that must match the stored values. */
export const REGISTRY_READ_ONLY = ['name', 'origin', 'createdAt', 'updatedAt'] as const;

function expiry(value: unknown): Issue[] {
  if (typeof value !== 'string') return issue(`must be a date or a time, not ${foundKind(value)}`);
  return parseExpiry(value) === null
    ? issue('must be a date such as 2027-06-30, or an RFC 3339 time such as 2027-06-30T12:00:00Z')
    : [];
}

function ownerName(value: unknown): Issue[] {
  const issues = text()(value);
  return issues.length > 0 ? issues : textUpTo(MAX_OWNER_CHARACTERS)(value);
}

function keyIssues(keys: readonly unknown[]): Issue[] {
  const names = keys.map((key) => member(key, 'name'));
  return names.flatMap((name, position) =>
    typeof name === 'string' && names.indexOf(name) < position
      ? below(
          ['keys', position, 'name'],
          issue(`${JSON.stringify(name)} is already in the list: names must be unique`),
        )
      : [],
  );
}
