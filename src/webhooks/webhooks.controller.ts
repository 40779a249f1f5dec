import { Body, Controller, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { type Caller, CurrentCaller } from '../auth/caller.js';
import { Loaded, Route } from '../auth/route.js';
import type { WebhookConfig } from '../config/config.js';
import type { JsonText } from '../http/json-answers.js';
import { AdminListParameters } from '../http/lists.dto.js';
import { CurrentRequest, type RequestContext } from '../http/request-context.js';
import { ReplayBody } from './webhooks.dto.js';
import { DeliveryList, WebhookAnswer, WebhookAnswerList } from './webhooks.responses.js';
import { WebhooksService } from './webhooks.service.js';

@ApiTags('webhooks')
@Controller('v1/webhooks')
export class WebhooksController {
  constructor(private readonly webhooks: WebhooksService) {}

  @Route('GET', '', {
    access: 'superAdmin',
    audit: 'webhook.read',
    operationId: 'listWebhooks',
    summary: 'Lists the configured webhooks, each with its status',
    answer: WebhookAnswerList,
    errors: ['invalid_parameter', 'invalid_cursor'],
  })
  list(@Query() query: AdminListParameters): Promise<JsonText> {
    return this.webhooks.list(query);
  }

  @Route('GET', ':name/deliveries', {
    access: 'superAdmin',
    audit: 'webhook.read',
    loads: { resource: 'webhook', use: 'read' },
    operationId: 'listWebhookDeliveries',
    summary: 'Lists the last deliveries of a webhook, newest first',
    answer: DeliveryList,
    errors: ['invalid_parameter', 'invalid_cursor'],
  })
  deliveries(@Loaded() webhook: WebhookConfig, @Query() query: AdminListParameters): Promise<JsonText> {
    return this.webhooks.deliveries(webhook, query);
  }

  @Route('POST', ':name/resume', {
    access: 'superAdmin',
    audit: 'webhook.resume',
    loads: { resource: 'webhook', use: 'read' },
    operationId: 'resumeWebhook',
    summary: 'Resumes a paused webhook, or retries a failing one immediately',
    answer: null,
    errors: [],
  })
  resume(
    @CurrentCaller() caller: Caller,
    @Loaded() webhook: WebhookConfig,
    @CurrentRequest() context: RequestContext,
  ): Promise<void> {
    return this.webhooks.resume(webhook, { caller, context });
  }

  @Route('POST', ':name/replay', {
    access: 'superAdmin',
    audit: 'webhook.replay',
    loads: { resource: 'webhook', use: 'read' },
    body: ReplayBody,
    status: 202,
    operationId: 'replayWebhook',
    summary: 'Resends the events since a time, before any later ones',
    answer: WebhookAnswer,
    errors: [],
  })
  replay(
    @CurrentCaller() caller: Caller,
    @Loaded() webhook: WebhookConfig,
    @Body() { since }: ReplayBody,
    @CurrentRequest() context: RequestContext,
  ): Promise<JsonText> {
    return this.webhooks.replay(webhook, since, { caller, context });
  }
}
