import { Body, Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { type Caller, CurrentCaller } from '../auth/caller.js';
import { AnyCaller, Audited, Loaded, ResourceRoute } from '../auth/route.js';
import { TakesBody } from '../http/body.js';
import type { JsonText } from '../http/json-answers.js';
import { ApiErrors, ApiOkWithEtag } from '../http/openapi/api-answers.js';
import { CurrentRequest, type RequestContext } from '../http/request-context.js';
import { AdmissionListParameters, CommentBody, DecisionBody } from './admission.dto.js';
import { AdmissionItemDetails, AdmissionItemList } from './admission.responses.js';
import { Decisions } from './decisions.js';
import { ItemViews } from './item-views.queries.js';
import type { SeenItem } from './seen-items.queries.js';

const Item = () => ResourceRoute({ resource: 'item', use: 'read' });
const DECISION_ERRORS = [
  'read_only',
  'storage_full',
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
  @Item()
  @Audited('admission.read')
  @ApiOperation({
    operationId: 'getAdmissionItem',
    summary: 'Returns one item with its document and how it differs from what is served',
  })
  @ApiOkWithEtag(AdmissionItemDetails)
  get(@CurrentCaller() caller: Caller, @Loaded() { id }: SeenItem): Promise<JsonText> {
    return this.views.get(caller, id);
  }

  @Post(':id/approve')
  @Item()
  @HttpCode(200)
  @TakesBody()
  @Audited('admission.approve')
  @ApiOperation({ operationId: 'approveAdmissionItem', summary: 'Approves an item' })
  @ApiBody({ type: DecisionBody })
  @ApiOkResponse({ type: AdmissionItemDetails })
  @ApiErrors(...DECISION_ERRORS, 'own_publication', 'already_approved')
  approve(
    @CurrentCaller() caller: Caller,
    @Loaded() item: SeenItem,
    @Body() body: DecisionBody,
    @CurrentRequest() context: RequestContext,
  ): Promise<JsonText> {
    return this.decisions.decide(caller, item, 'approve', body, context);
  }

  @Post(':id/reject')
  @Item()
  @HttpCode(200)
  @TakesBody()
  @Audited('admission.reject')
  @ApiOperation({ operationId: 'rejectAdmissionItem', summary: 'Rejects an item' })
  @ApiBody({ type: DecisionBody })
  @ApiOkResponse({ type: AdmissionItemDetails })
  @ApiErrors(...DECISION_ERRORS, 'own_publication')
  reject(
    @CurrentCaller() caller: Caller,
    @Loaded() item: SeenItem,
    @Body() body: DecisionBody,
    @CurrentRequest() context: RequestContext,
  ): Promise<JsonText> {
    return this.decisions.decide(caller, item, 'reject', body, context);
  }

  @Post(':id/comment')
  @Item()
  @HttpCode(200)
  @TakesBody()
  @Audited('admission.comment')
  @ApiOperation({ operationId: 'commentOnAdmissionItem', summary: 'Adds a comment to an item' })
  @ApiBody({ type: CommentBody })
  @ApiOkResponse({ type: AdmissionItemDetails })
  @ApiErrors(...DECISION_ERRORS, 'too_many_comments')
  comment(
    @CurrentCaller() caller: Caller,
    @Loaded() item: SeenItem,
    @Body() body: CommentBody,
    @CurrentRequest() context: RequestContext,
  ): Promise<JsonText> {
    return this.decisions.decide(caller, item, 'comment', body, context);
  }

  @Post(':id/withdraw')
  @Item()
  @HttpCode(200)
  @TakesBody()
  @Audited('admission.withdraw')
  @ApiOperation({ operationId: 'withdrawAdmissionItem', summary: 'Withdraws what the caller published' })
  @ApiBody({ type: DecisionBody })
  @ApiOkResponse({ type: AdmissionItemDetails })
  @ApiErrors(...DECISION_ERRORS)
  withdraw(
    @CurrentCaller() caller: Caller,
    @Loaded() item: SeenItem,
    @Body() body: DecisionBody,
    @CurrentRequest() context: RequestContext,
  ): Promise<JsonText> {
    return this.decisions.decide(caller, item, 'withdraw', body, context);
  }
}
