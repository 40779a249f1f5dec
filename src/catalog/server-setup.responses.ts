import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { CLIENTS, type ClientName } from '../client-config/clients.js';
import { type OmissionReason, OMISSIONS } from '../client-config/template.js';

export class SetupOmission {
  @ApiProperty({ enum: Object.keys(OMISSIONS), enumName: 'OmissionReason' })
  reason: OmissionReason;

  @ApiProperty({ description: 'The reason as a sentence' })
  explanation: string;
}

/** The configuration of a server for a client, or the reason why there is none. */
export class ClientSetupAnswer {
  @ApiProperty({ enum: CLIENTS })
  client: ClientName;

  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    description: 'Content for the client’s configuration file, as in `client-config`',
  })
  configuration?: object;

  @ApiPropertyOptional({ description: 'The configuration as text, if the client reads TOML' })
  toml?: string;

  omitted?: SetupOmission;
}

/** A remote or package of the document. */
export class ServerOptionAnswer {
  @ApiProperty({ enum: ['remote', 'package'] })
  kind: string;

  @ApiProperty({ type: 'integer', minimum: 0, description: 'Its position in the document' })
  index: number;

  clients: ClientSetupAnswer[];
}

export class ServerSetup {
  name: string;
  version: string;

  @ApiProperty({ description: 'The first 10 ways to reach or run the server: remotes, then packages' })
  options: ServerOptionAnswer[];

  @ApiProperty({ description: 'Whether ToolHive runs it by its name, with this registry' })
  runsInToolHive: boolean;
}
