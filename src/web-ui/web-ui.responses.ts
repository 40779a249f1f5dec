import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';

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

  /** Whether claims restrict access: `auth.authz` is configured. */
  checksClaims: boolean;

  /** Empty in anonymous mode, and when no login is configured. */
  logins: PageLogin[];

  /** Whether entries may have icons, which `…/x/icon` serves. */
  hasIcons: boolean;

  /** The name of the web UI. */
  title: string;

  /** Whether `/logo` serves an image for the title. */
  hasLogo: boolean;

  @ApiPropertyOptional({ example: '#0b6b62', description: 'The color of links and buttons' })
  accent?: string;
}
