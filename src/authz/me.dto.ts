import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { type Role, ROLES } from '../auth/route.js';
import { Checked, Optional } from '../validation/class-checks.js';
import { emptyOr, flagParameter } from '../validation/value-checks.js';

/** contract §10. */
export class MeQuery {
  @ApiPropertyOptional({ type: 'boolean', description: 'Also the claims of the caller that count here' })
  @Optional()
  @Checked(emptyOr(flagParameter))
  claims?: string;
}

/** spec §2.7 */
export class MeAnswer {
  /** The token's subject; empty when the token names none. */
  subject: string;

  @ApiProperty({ enum: ROLES, isArray: true })
  roles: Role[];

  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    description: 'With `claims=true`: those of the token, or what the claims of its provider make of them',
  })
  claims?: Readonly<Record<string, unknown>>;
}
