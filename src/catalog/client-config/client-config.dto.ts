import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import {
  type ClientName,
  CLIENTS,
  CONFIG_FORMS,
  type ConfigForm,
} from '../../client-config/client-config.js';
import { Checked, Optional } from '../../validation/class-checks.js';
import { emptyOr, wordParameter } from '../../validation/value-checks.js';

export class ClientConfigQuery {
  @ApiProperty({ enum: CLIENTS, example: 'vscode' })
  @Checked(wordParameter(CLIENTS))
  client: ClientName;

  @ApiPropertyOptional({
    enum: CONFIG_FORMS,
    default: 'servers',
    description: 'The file that installs the servers, or the list that allows them and no others',
  })
  @Optional()
  @Checked(emptyOr(wordParameter(CONFIG_FORMS)))
  form?: ConfigForm | '';
}
