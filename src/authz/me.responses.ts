import { ApiProperty } from '@nestjs/swagger';
import { type Role, ROLES } from '../auth/route-access.js';

/** spec §2.7 */
export class MeAnswer {
  /** The token's subject; null for a token that names none. */
  @ApiProperty({ type: String, nullable: true })
  subject: string | null;

  @ApiProperty({ enum: ROLES, isArray: true })
  roles: Role[];
}
