import { ApiPropertyOptional } from '@nestjs/swagger';
import type { Claims } from '../claims/claims.js';
import { CLAIMS_SCHEMA } from '../claims/claims-schema.js';
import { claims, dnsLabel, listOf } from '../validation/checks.js';
import { Checked, Optional } from '../validation/shape.js';

/** A registry without its name: an item of `registries:`, and the body of `PUT /v1/registries/{name}` (contract §2, §7). */
export class RegistrySettings {
  /** Names of sources; the order decides who wins when a name is in several. */
  @Checked(listOf(dnsLabel, { notEmpty: true, unique: true })) sources: string[];
  @ApiPropertyOptional(CLAIMS_SCHEMA) @Optional() @Checked(claims) claims?: Claims;
}
