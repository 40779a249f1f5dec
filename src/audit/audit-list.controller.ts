import { Controller, Get, Query, Req, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { type Caller, Client, CurrentCaller, CurrentClient } from '../auth/caller.js';
import { Audited, RequiresAnyRole } from '../auth/route.js';
import { type JsonLines, JsonText, LINES_TYPE } from '../http/json-answers.js';
import { ApiErrors, ApiOkWithEtag } from '../http/openapi/api-answers.js';
import { AuditEventList, AuditListParameters } from './audit-list.dto.js';
import { AuditListService } from './audit-list.service.js';

@ApiTags('audit')
@Controller('v1/audit')
@RequiresAnyRole()
@Audited('audit.read')
export class AuditListController {
  constructor(private readonly events: AuditListService) {}

  @Get()
  @ApiOperation({
    operationId: 'listAuditEvents',
    summary: 'List the changes and refusals that the caller may see, newest first',
    description: `With \`Accept: ${LINES_TYPE}\`, streams one event per line.`,
  })
  @ApiOkWithEtag(AuditEventList)
  @ApiErrors('invalid_parameter', 'invalid_cursor', 'database_unavailable', 'database_timeout')
  list(
    @CurrentCaller() caller: Caller,
    @CurrentClient() client: Client,
    @Query() query: AuditListParameters,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<JsonText | JsonLines> {
    response.vary('Accept');
    return request.accepts(['application/json', LINES_TYPE]) === LINES_TYPE
      ? this.events.lines(caller, client, query)
      : this.events.page(caller, client, query);
  }
}
