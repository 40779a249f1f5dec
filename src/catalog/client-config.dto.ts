import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { type ClientName, CLIENTS, CONFIG_FORMS, type ConfigForm } from '../client-config/client-config.js';
import { type OmissionReason, OMISSIONS } from '../client-config/template.js';
import { IsOptional, Validate } from '../validation/class-validation.js';
import { emptyOr, wordParameter } from '../validation/value-checks.js';

export class ClientConfigQuery {
  @ApiProperty({ enum: CLIENTS, example: 'vscode' })
  @Validate(wordParameter(CLIENTS))
  client: ClientName;

  @ApiPropertyOptional({
    enum: CONFIG_FORMS,
    default: 'servers',
    description: 'The file that installs the servers, or the list that allows them and no others',
  })
  @IsOptional()
  @Validate(emptyOr(wordParameter(CONFIG_FORMS)))
  form?: ConfigForm | '';
}

const FREE_OBJECT = { type: 'object', additionalProperties: true } as const;

/** A server that the configuration of a client has no words for. */
export class OmittedServer {
  name: string;
  version: string;

  @ApiProperty({
    enum: Object.keys(OMISSIONS),
    enumName: 'OmissionReason',
    description: Object.entries(OMISSIONS)
      .map(([reason, sentence]) => `\`${reason}\`: ${sentence}.`)
      .join(' '),
  })
  reason: OmissionReason;
}

/** The members are those of the client, after its own documentation: `servers` of one, `mcpServers` of the others. */
export class ClientConfigAnswer {
  @ApiPropertyOptional({ ...FREE_OBJECT, description: 'VS Code: the servers, by their names' })
  servers?: object;

  @ApiPropertyOptional({
    type: 'array',
    items: FREE_OBJECT,
    description: 'VS Code: what it asks the user for',
  })
  inputs?: object[];

  @ApiPropertyOptional({
    ...FREE_OBJECT,
    description: 'Copilot, Claude Code and Cursor: the servers, by their names',
  })
  mcpServers?: object;

  @ApiPropertyOptional({
    type: 'array',
    items: FREE_OBJECT,
    description: 'The environment variables that the user has to set',
  })
  'x-environment'?: object[];

  @ApiPropertyOptional({
    type: 'array',
    items: FREE_OBJECT,
    description: 'The allow-list of VS Code, Copilot and Claude Code, in their managed settings',
  })
  allowedMcpServers?: object[];

  @ApiPropertyOptional({ description: 'Claude Code: users cannot add to the allow-list' })
  allowManagedMcpServersOnly?: boolean;

  @ApiPropertyOptional({ type: [String], description: 'The allow-list of Cursor: its command entries' })
  commandEntries?: string[];

  @ApiPropertyOptional({ type: [String], description: 'The allow-list of Cursor: its URL entries' })
  urlEntries?: string[];

  @ApiPropertyOptional({ type: [OmittedServer] })
  'x-omitted'?: OmittedServer[];
}
