import { Controller, Query, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { type Caller, CurrentCaller } from '../auth/caller.js';
import { Route } from '../auth/route.js';
import { CSV_TYPE, JsonText, LINES_TYPE, type StreamedLines } from '../http/json-answers.js';
import { Client, CurrentClient } from '../http/request-context.js';
import { AuditEventList, AuditListParameters } from './audit-list.dto.js';
import { AuditListService } from './audit-list.service.js';

@ApiTags('audit')
@Controller('v1/audit')
export class AuditListController {
  constructor(private readonly events: AuditListService) {}

  @Route('GET', '', {
    access: 'anyRole',
    audit: 'audit.read',
    operationId: 'listAuditEvents',
    summary: 'List the changes and refusals that the caller may see, newest first',
    description: `With \`Accept: ${LINES_TYPE}\` or \`${CSV_TYPE}\`, streams one event per line.`,
    answer: AuditEventList,
    errors: ['invalid_parameter', 'invalid_cursor'],
  })
  list(
    @CurrentCaller() caller: Caller,
    @CurrentClient() client: Client,
    @Query() query: AuditListParameters,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<JsonText | StreamedLines> {
    response.vary('Accept');
    const type = ([LINES_TYPE, CSV_TYPE] as const).find(
      (each) => request.accepts(['application/json', LINES_TYPE, CSV_TYPE]) === each,
    );
    return type ? this.events.lines(caller, client, query, type) : this.events.page(caller, client, query);
  }
}
