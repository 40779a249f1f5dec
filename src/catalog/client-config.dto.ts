import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn } from 'class-validator';
import { type ClientName, CLIENTS } from '../client-config/clients.js';
import { FILE_FORMS, type FileForm } from '../client-config/marketplace-settings.js';
import { type OmissionReason, OMISSIONS } from '../client-config/template.js';
import { MayBeEmpty } from '../validation/decorators.js';

export class ClientConfigQuery {
  @ApiProperty({ example: 'vscode' }) @IsIn(CLIENTS) client: ClientName;

  @ApiPropertyOptional({
    default: 'servers',
    description:
      '`servers`: the file that installs the servers; `allowlist`: the list that allows only them; `denylist`: the list that ' +
      'blocks deleted and blocked versions; `managed`: both lists, as managed settings, which in a marketplace allow only its plugins; ' +
      '`plugins`: the settings that install the plugins of the marketplace. Cursor supports only `servers` and `allowlist`; Codex ' +
      'does not support `denylist`.',
  })
  @MayBeEmpty()
  @IsIn(FILE_FORMS)
  form?: FileForm | '';
}

const FREE_OBJECT = { type: 'object', additionalProperties: true } as const;

/** A server that the client’s format cannot express. */
export class OmittedServer {
  name: string;
  version: string;

  @ApiPropertyOptional({ description: 'The server of a plugin' })
  server?: string;

  @ApiProperty({
    enum: Object.keys(OMISSIONS),
    enumName: 'OmissionReason',
    description: Object.entries(OMISSIONS)
      .map(([reason, sentence]) => `\`${reason}\`: ${sentence}.`)
      .join(' '),
  })
  reason: OmissionReason;
}

/** The member names follow each client's documentation: `servers` for VS Code, `mcpServers` for the others. Codex reads TOML. */
export class ClientConfigAnswer {
  @ApiPropertyOptional({ ...FREE_OBJECT, description: 'VS Code: the servers by name' })
  servers?: object;

  @ApiPropertyOptional({
    type: 'array',
    items: FREE_OBJECT,
    description: 'VS Code: the inputs that it prompts the user for',
  })
  inputs?: object[];

  @ApiPropertyOptional({
    ...FREE_OBJECT,
    description: 'Copilot, Claude Code and Cursor: the servers by name',
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

  @ApiPropertyOptional({
    type: 'array',
    items: FREE_OBJECT,
    description: 'The deny-list of VS Code, Copilot and Claude Code, in their managed settings',
  })
  deniedMcpServers?: object[];

  @ApiPropertyOptional({ description: 'Claude Code: users cannot add to the allow-list' })
  allowManagedMcpServersOnly?: boolean;

  @ApiPropertyOptional({ type: [String], description: 'The allow-list of Cursor: its command entries' })
  commandEntries?: string[];

  @ApiPropertyOptional({ type: [String], description: 'The allow-list of Cursor: its URL entries' })
  urlEntries?: string[];

  @ApiPropertyOptional({ ...FREE_OBJECT, description: 'Claude Code, Copilot and VS Code: the marketplace' })
  extraKnownMarketplaces?: object;

  @ApiPropertyOptional({
    type: 'array',
    items: FREE_OBJECT,
    description: 'Claude Code, Copilot and VS Code: the only marketplaces that users may add',
  })
  strictKnownMarketplaces?: object[];

  @ApiPropertyOptional({
    ...FREE_OBJECT,
    description:
      'Claude Code, Copilot and VS Code: plugins by id; `true` enables, `false` disables what is blocked or was removed',
  })
  enabledPlugins?: object;

  @ApiPropertyOptional({ type: [OmittedServer] })
  'x-omitted'?: OmittedServer[];
}
