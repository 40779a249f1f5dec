import { ApiProperty } from '@nestjs/swagger';
import { ServerItem } from '../catalog/catalog.responses.js';
import { IsText } from '../validation/class-validation.js';

/** The body of a login by the token of a CI provider. */
export class TokenExchangeBody {
  @ApiProperty({ description: 'A token of one of the providers of this server' })
  @IsText()
  oidc_token: string;
}

export class ValidationIssue {
  @ApiProperty({ enum: ['schema'] })
  type: string;

  /** Such as `packages[0].transport.url`; empty for the document itself. */
  path: string;

  message: string;

  @ApiProperty({ enum: ['error'] })
  severity: string;

  /** Empty: the message says all there is. */
  reference: string;
}

export class ValidationAnswer {
  /** Could it be published? */
  valid: boolean;

  issues: ValidationIssue[];
}

export class RegistryTokenAnswer {
  /** The token that was sent: this server issues none. */
  registry_token: string;

  /** When it expires, in seconds since 1970; absent where the token does not say. */
  @ApiProperty({ type: 'integer', required: false })
  expires_at?: number;
}

export class ServerStatusAnswer {
  /** How many versions have the status now. */
  @ApiProperty({ type: 'integer' })
  updatedCount: number;

  @ApiProperty({ type: [ServerItem] })
  servers: ServerItem[];
}
