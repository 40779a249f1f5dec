import { ApiProperty } from '@nestjs/swagger';
import { text } from '../validation/value-checks.js';
import { Checked } from '../validation/class-checks.js';

/** The body of a login by the token of a CI provider. */
export class TokenExchangeBody {
  @ApiProperty({ description: 'A token of one of the providers of this server' })
  @Checked(text())
  oidc_token: string;
}
