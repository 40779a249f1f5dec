import { ApiProperty } from '@nestjs/swagger';
import { text } from '../validation/checks.js';
import { Checked } from '../validation/shape.js';

/** The body of a login by the token of a CI provider. */
export class TokenExchangeBody {
  @ApiProperty({ description: 'A token of one of the providers of this server' })
  @Checked(text())
  oidc_token: string;
}
