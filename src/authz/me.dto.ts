import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { type Role, ROLES } from '../auth/route.js';
import { IsFlag, MayBeEmpty } from '../validation/decorators.js';

/** Query parameters (reference/explain). */
export class MeQuery {
  /** Include the claims of the caller */
  @MayBeEmpty() @IsFlag() claims?: string;
}

/** reference/access */
export class MeAnswer {
  /** The subject of the token, or its client if it has no subject. */
  subject: string;

  /** The caller's name, if the token has one in the `displayName` claim of its provider. Not unique. */
  name?: string;

  @ApiProperty({ enum: ROLES, isArray: true })
  roles: Role[];

  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    description: "With `claims=true`: the claims of the token, after its provider's claim mapping",
  })
  claims?: Readonly<Record<string, unknown>>;
}
