import { Body, Controller, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { type Caller, CurrentCaller } from '../auth/caller.js';
import { Loaded, Route } from '../auth/route.js';
import type { JsonText } from '../http/json-answers.js';
import { CurrentRequest, type RequestContext } from '../http/request-context.js';
import { AdmissionListParameters, CommentBody, DecisionBody } from './admission.dto.js';
import { AdmissionItemDetails, AdmissionItemList } from './admission.responses.js';
import { Decisions } from './review-decisions.js';
import { ItemViews } from './item-views.queries.js';
import type { SeenItem } from './seen-items.queries.js';

const ITEM = { resource: 'item', use: 'read' } as const;
const DECISION_ERRORS = ['not_reviewer', 'digest_mismatch', 'already_decided'] as const;

@ApiTags('admission')
@Controller('v1/admission')
export class AdmissionController {
  constructor(
    private readonly views: ItemViews,
    private readonly decisions: Decisions,
  ) {}

  @Route('GET', '', {
    access: 'caller',
    audit: 'admission.read',
    operationId: 'listAdmissionItems',
    summary: 'Lists the held versions and changes that the caller sees, newest first',
    answer: AdmissionItemList,
    errors: ['invalid_parameter', 'invalid_cursor'],
  })
  list(@CurrentCaller() caller: Caller, @Query() query: AdmissionListParameters): Promise<JsonText> {
    return this.views.list(caller, query);
  }

  @Route('GET', ':id', {
    access: 'caller',
    audit: 'admission.read',
    loads: ITEM,
    operationId: 'getAdmissionItem',
    summary: 'Returns one item with its document and its difference from the served version',
    answer: AdmissionItemDetails,
    errors: [],
  })
  get(@CurrentCaller() caller: Caller, @Loaded() { id }: SeenItem): Promise<JsonText> {
    return this.views.get(caller, id);
  }

  @Route('POST', ':id/approve', {
    access: 'caller',
    audit: 'admission.approve',
    loads: ITEM,
    body: DecisionBody,
    operationId: 'approveAdmissionItem',
    summary: 'Approves an item',
    answer: AdmissionItemDetails,
    errors: [...DECISION_ERRORS, 'own_publication', 'already_approved'],
  })
  approve(
    @CurrentCaller() caller: Caller,
    @Loaded() item: SeenItem,
    @Body() body: DecisionBody,
    @CurrentRequest() context: RequestContext,
  ): Promise<JsonText> {
    return this.decisions.decide(caller, item, 'approve', body, context);
  }

  @Route('POST', ':id/reject', {
    access: 'caller',
    audit: 'admission.reject',
    loads: ITEM,
    body: DecisionBody,
    operationId: 'rejectAdmissionItem',
    summary: 'Rejects an item',
    answer: AdmissionItemDetails,
    errors: [...DECISION_ERRORS, 'own_publication'],
  })
  reject(
    @CurrentCaller() caller: Caller,
    @Loaded() item: SeenItem,
    @Body() body: DecisionBody,
    @CurrentRequest() context: RequestContext,
  ): Promise<JsonText> {
    return this.decisions.decide(caller, item, 'reject', body, context);
  }

  @Route('POST', ':id/comment', {
    access: 'caller',
    audit: 'admission.comment',
    loads: ITEM,
    body: CommentBody,
    operationId: 'commentOnAdmissionItem',
    summary: 'Adds a comment to an item',
    answer: AdmissionItemDetails,
    errors: [...DECISION_ERRORS, 'too_many_comments'],
  })
  comment(
    @CurrentCaller() caller: Caller,
    @Loaded() item: SeenItem,
    @Body() body: CommentBody,
    @CurrentRequest() context: RequestContext,
  ): Promise<JsonText> {
    return this.decisions.decide(caller, item, 'comment', body, context);
  }

  @Route('POST', ':id/withdraw', {
    access: 'caller',
    audit: 'admission.withdraw',
    loads: ITEM,
    body: DecisionBody,
    operationId: 'withdrawAdmissionItem',
    summary: 'Withdraws a version or change that the caller published',
    answer: AdmissionItemDetails,
    errors: DECISION_ERRORS,
  })
  withdraw(
    @CurrentCaller() caller: Caller,
    @Loaded() item: SeenItem,
    @Body() body: DecisionBody,
    @CurrentRequest() context: RequestContext,
  ): Promise<JsonText> {
    return this.decisions.decide(caller, item, 'withdraw', body, context);
  }
}
