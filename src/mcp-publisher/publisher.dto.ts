import { ApiProperty } from '@nestjs/swagger';
import { ServerItem } from '../catalog/catalog.responses.js';
import { IsText } from '../validation/decorators.js';

/** The body of a login request with a CI provider's token. */
export class TokenExchangeBody {
  @ApiProperty({ description: 'A token from one of the configured identity providers' })
  @IsText()
  oidc_token: string;
}

export class ValidationIssue {
  @ApiProperty({ enum: ['schema'] })
  type: string;

  /** A path such as `packages[0].transport.url`; empty if the issue concerns the entire document. */
  path: string;

  message: string;

  @ApiProperty({ enum: ['error'] })
  severity: string;

  /** Always empty. */
  reference: string;
}

export class ValidationAnswer {
  /** Whether the document could be published. */
  valid: boolean;

  issues: ValidationIssue[];
}

export class RegistryTokenAnswer {
  /** The token from the request, because this server issues none; in anonymous mode, a text that the server ignores. */
  registry_token: string;

  /** Expiration time in seconds since 1970; absent if the token has no `exp`. */
  @ApiProperty({ type: 'integer', required: false })
  expires_at?: number;
}

export class ServerStatusAnswer {
  /** Number of versions that now have the requested status. */
  @ApiProperty({ type: 'integer' })
  updatedCount: number;

  /** The newest versions, up to 1 MiB of documents. */
  @ApiProperty({ type: [ServerItem] })
  servers: ServerItem[];
}
