import { ApiProperty } from '@nestjs/swagger';

/** A login provider. */
export class PageLogin {
  /** The name of the provider in the configuration. */
  provider: string;

  issuer: string;

  clientId: string;

  scopes: string[];

  /** Scopes to request if the provider lists them in its discovery document. */
  optionalScopes: string[];

  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'string' },
    description: 'Sent with the authorization request',
  })
  parameters: Readonly<Record<string, string>>;
}

export class PageSettings {
  @ApiProperty({ enum: ['anonymous', 'oauth'] })
  mode: string;

  /** Empty in anonymous mode, and when none is configured. */
  logins: PageLogin[];

  /** Origins from which icons of entries may be loaded. */
  iconOrigins: string[];
}
