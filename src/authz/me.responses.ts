import { ApiProperty } from '@nestjs/swagger';
import { type Role, ROLES } from '../auth/route-access.js';

/** spec §2.7 */
export class MeAnswer {
  /** The token's subject; empty when the token names none. */
  subject: string;

  @ApiProperty({ enum: ROLES, isArray: true })
  roles: Role[];
}
