import { ApiProperty } from '@nestjs/swagger';

/** Where somebody logs in. */
export class PageLogin {
  /** The name of the provider in the configuration. */
  provider: string;

  issuer: string;

  clientId: string;

  scopes: string[];

  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'string' },
    description: 'Sent along with the request for authorization',
  })
  parameters: Readonly<Record<string, string>>;
}

export class PageSettings {
  @ApiProperty({ enum: ['anonymous', 'oauth'] })
  mode: string;

  /** Empty in anonymous mode, and where the configuration names none. */
  logins: PageLogin[];

  /** Where icons of entries may be loaded from. */
  iconOrigins: string[];
}
