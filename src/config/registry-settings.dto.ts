import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { CLAIMS_SCHEMA } from '../claims/claim-rules.js';
import type { Claims } from '../claims/claims.js';
import { member } from '../json/json-values.js';
import { Checked, Optional, Rule, Section, SectionList } from '../validation/class-checks.js';
import { below, type Issue, issue } from '../validation/problems.js';
import { claims, dnsLabel, foundKind, listOf, text } from '../validation/value-checks.js';
import { parseExpiry } from './registry-keys.js';

/** Each request that comes with a key is compared with all of them. */
const MAX_KEYS = 20;

/** What a caller without a token holds in the reads of one registry (contract §6.1). */
export class AnonymousSettings {
  /** Exactly these claims; no role comes with them. */
  @ApiProperty(CLAIMS_SCHEMA) @Checked(claims) claims: Claims;
}

/** A key in the address of a registry, for clients that cannot send a token (contract §6.1). */
export class RegistryKeySettings {
  /** What the audit calls it. */
  @ApiProperty({ example: 'copilot' }) @Checked(dnsLabel) name: string;

  /** The file that holds the key: 43 base64url characters. */
  @ApiProperty({ example: '/run/secrets/copilot' }) @Checked(text()) secretFile: string;

  /** What its holders hold, in the reads of this registry alone. */
  @ApiProperty(CLAIMS_SCHEMA) @Checked(claims) claims: Claims;

  /** From then on the key is refused: a time, or a date, which begins at 00:00 UTC. */
  @ApiPropertyOptional({ example: '2027-06-30' }) @Optional() @Checked(expiry) expires?: string;
}

/** A registry without its name: an item of `registries:`, and the body of `PUT /v1/registries/{name}` (contract §2, §7). */
@Rule<RegistrySettings>(({ keys }) => (Array.isArray(keys) ? keyIssues(keys) : []))
export class RegistrySettings {
  /** Names of sources; the order decides who wins when a name is in several. */
  @Checked(listOf(dnsLabel, { notEmpty: true, unique: true })) sources: string[];
  @ApiPropertyOptional(CLAIMS_SCHEMA) @Optional() @Checked(claims) claims?: Claims;
  /** Opens it, for reading, to callers without a token. */
  @Optional() @Section(() => AnonymousSettings) anonymous?: AnonymousSettings;
  /** Opens it, for reading, to whoever knows one of these keys. */
  @Optional() @SectionList(() => RegistryKeySettings) keys?: RegistryKeySettings[];
  /** The claims of what `mcp-publisher` publishes through this registry; absent: it takes nothing. */
  @ApiPropertyOptional(CLAIMS_SCHEMA) @Optional() @Checked(claims) publishClaims?: Claims;
}

function expiry(value: unknown): Issue[] {
  if (typeof value !== 'string') return issue(`must be a date or a time, not ${foundKind(value)}`);
  return parseExpiry(value) === null
    ? issue('must be a date such as 2027-06-30, or an RFC 3339 time such as 2027-06-30T12:00:00Z')
    : [];
}

function keyIssues(keys: readonly unknown[]): Issue[] {
  if (keys.length > MAX_KEYS) return below(['keys'], issue(`must not have more than ${MAX_KEYS} items`));
  const names = keys.map((key) => member(key, 'name'));
  return names.flatMap((name, position) =>
    typeof name === 'string' && names.indexOf(name) < position
      ? below(
          ['keys', position, 'name'],
          issue(`${JSON.stringify(name)} stands in the list already: names are unique`),
        )
      : [],
  );
}
