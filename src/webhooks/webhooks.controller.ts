import { Body, Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiAcceptedResponse, ApiNoContentResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { type Caller, CurrentCaller } from '../auth/caller.js';
import { Audited, Loaded, RequiresRole, ResourceRoute } from '../auth/route.js';
import type { WebhookConfig } from '../config/config.js';
import { TakesBody } from '../http/body.js';
import type { JsonText } from '../http/json-answers.js';
import { AdminListParameters } from '../http/lists.dto.js';
import { ApiErrors, ApiOkWithEtag } from '../http/openapi/api-answers.js';
import { CurrentRequest, type RequestContext } from '../http/request-context.js';
import { ReplayBody } from './webhooks.dto.js';
import { DeliveryList, WebhookAnswer, WebhookAnswerList } from './webhooks.responses.js';
import { WebhooksService } from './webhooks.service.js';

@ApiTags('webhooks')
@Controller('v1/webhooks')
@RequiresRole('superAdmin')
@ApiErrors('database_unavailable', 'database_timeout')
export class WebhooksController {
  constructor(private readonly webhooks: WebhooksService) {}

  @Get()
  @Audited('webhook.read')
  @ApiOperation({
    operationId: 'listWebhooks',
    summary: 'Lists the configured webhooks, each with its status',
  })
  @ApiOkWithEtag(WebhookAnswerList)
  @ApiErrors('invalid_parameter', 'invalid_cursor')
  list(@Query() query: AdminListParameters): Promise<JsonText> {
    return this.webhooks.list(query);
  }

  @Get(':name/deliveries')
  @Audited('webhook.read')
  @ResourceRoute({ resource: 'webhook', use: 'read' })
  @ApiOperation({
    operationId: 'listWebhookDeliveries',
    summary: 'Lists the last deliveries of a webhook, newest first',
  })
  @ApiOkWithEtag(DeliveryList)
  @ApiErrors('invalid_parameter', 'invalid_cursor')
  deliveries(@Loaded() webhook: WebhookConfig, @Query() query: AdminListParameters): Promise<JsonText> {
    return this.webhooks.deliveries(webhook, query);
  }

  @Post(':name/resume')
  @Audited('webhook.resume')
  @HttpCode(204)
  @ResourceRoute({ resource: 'webhook', use: 'read' })
  @ApiOperation({
    operationId: 'resumeWebhook',
    summary: 'Resumes a paused webhook; a retrying one tries again now',
  })
  @ApiNoContentResponse()
  @ApiErrors('read_only', 'storage_full')
  resume(
    @CurrentCaller() caller: Caller,
    @Loaded() webhook: WebhookConfig,
    @CurrentRequest() context: RequestContext,
  ): Promise<void> {
    return this.webhooks.resume(webhook, { caller, context });
  }

  @Post(':name/replay')
  @Audited('webhook.replay')
  @HttpCode(202)
  @TakesBody()
  @ResourceRoute({ resource: 'webhook', use: 'read' })
  @ApiOperation({
    operationId: 'replayWebhook',
    summary: 'Sends the events since a time again, before any later ones',
  })
  @ApiAcceptedResponse({ type: WebhookAnswer })
  @ApiErrors('read_only', 'storage_full')
  replay(
    @CurrentCaller() caller: Caller,
    @Loaded() webhook: WebhookConfig,
    @Body() { since }: ReplayBody,
    @CurrentRequest() context: RequestContext,
  ): Promise<JsonText> {
    return this.webhooks.replay(webhook, since, { caller, context });
  }
}
