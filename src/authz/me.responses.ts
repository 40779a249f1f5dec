import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { type Role, ROLES } from '../auth/route.js';

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
