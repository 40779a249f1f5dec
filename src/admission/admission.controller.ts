import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { type Caller, CurrentCaller } from '../auth/caller.js';
import { AnyCaller, Audited } from '../auth/route.js';
import { TakesBody } from '../http/body.js';
import type { JsonText } from '../http/json-answers.js';
import { ApiErrors, ApiOkWithEtag } from '../http/openapi/api-answers.js';
import { CurrentRequest, type RequestContext } from '../http/request-context.js';
import { AdmissionListParameters, CommentBody, DecisionBody } from './admission.dto.js';
import { AdmissionItemDetails, AdmissionItemList } from './admission.responses.js';
import { Decisions } from './decisions.js';
import { ItemViews } from './item-views.queries.js';

const ID = {
  name: 'id',
  schema: { type: 'string' as const, format: 'uuid', example: '0190d6f2-5c1e-4b7a-9a53-6c1f0f1e2d3c' },
};
const DECISION_ERRORS = [
  'malformed_path',
  'read_only',
  'storage_full',
  'item_not_found',
  'not_reviewer',
  'digest_mismatch',
  'already_decided',
] as const;

@ApiTags('admission')
@Controller('v1/admission')
@AnyCaller()
@ApiErrors('database_unavailable', 'database_timeout')
export class AdmissionController {
  constructor(
    private readonly views: ItemViews,
    private readonly decisions: Decisions,
  ) {}

  @Get()
  @Audited('admission.read')
  @ApiOperation({
    operationId: 'listAdmissionItems',
    summary: 'Lists the held versions and changes that the caller sees, newest first',
  })
  @ApiOkWithEtag(AdmissionItemList)
  @ApiErrors('invalid_parameter', 'invalid_cursor')
  list(@CurrentCaller() caller: Caller, @Query() query: AdmissionListParameters): Promise<JsonText> {
    return this.views.list(caller, query);
  }

  @Get(':id')
  @Audited('admission.read')
  @ApiOperation({
    operationId: 'getAdmissionItem',
    summary: 'Returns one item with its document and how it differs from what is served',
  })
  @ApiParam(ID)
  @ApiOkWithEtag(AdmissionItemDetails)
  @ApiErrors('malformed_path', 'item_not_found')
  get(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<JsonText> {
    return this.views.get(caller, id);
  }

  @Post(':id/approve')
  @HttpCode(200)
  @TakesBody()
  @Audited('admission.approve')
  @ApiOperation({ operationId: 'approveAdmissionItem', summary: 'Approves an item' })
  @ApiParam(ID)
  @ApiBody({ type: DecisionBody })
  @ApiOkResponse({ type: AdmissionItemDetails })
  @ApiErrors(...DECISION_ERRORS, 'own_publication', 'already_approved')
  approve(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Body() body: DecisionBody,
    @CurrentRequest() context: RequestContext,
  ): Promise<JsonText> {
    return this.decisions.decide(caller, id, 'approve', body, context);
  }

  @Post(':id/reject')
  @HttpCode(200)
  @TakesBody()
  @Audited('admission.reject')
  @ApiOperation({ operationId: 'rejectAdmissionItem', summary: 'Rejects an item' })
  @ApiParam(ID)
  @ApiBody({ type: DecisionBody })
  @ApiOkResponse({ type: AdmissionItemDetails })
  @ApiErrors(...DECISION_ERRORS, 'own_publication')
  reject(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Body() body: DecisionBody,
    @CurrentRequest() context: RequestContext,
  ): Promise<JsonText> {
    return this.decisions.decide(caller, id, 'reject', body, context);
  }

  @Post(':id/comment')
  @HttpCode(200)
  @TakesBody()
  @Audited('admission.comment')
  @ApiOperation({ operationId: 'commentOnAdmissionItem', summary: 'Adds a comment to an item' })
  @ApiParam(ID)
  @ApiBody({ type: CommentBody })
  @ApiOkResponse({ type: AdmissionItemDetails })
  @ApiErrors(...DECISION_ERRORS, 'too_many_comments')
  comment(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Body() body: CommentBody,
    @CurrentRequest() context: RequestContext,
  ): Promise<JsonText> {
    return this.decisions.decide(caller, id, 'comment', body, context);
  }

  @Post(':id/withdraw')
  @HttpCode(200)
  @TakesBody()
  @Audited('admission.withdraw')
  @ApiOperation({ operationId: 'withdrawAdmissionItem', summary: 'Withdraws what the caller published' })
  @ApiParam(ID)
  @ApiBody({ type: DecisionBody })
  @ApiOkResponse({ type: AdmissionItemDetails })
  @ApiErrors(...DECISION_ERRORS)
  withdraw(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Body() body: DecisionBody,
    @CurrentRequest() context: RequestContext,
  ): Promise<JsonText> {
    return this.decisions.decide(caller, id, 'withdraw', body, context);
  }
}
