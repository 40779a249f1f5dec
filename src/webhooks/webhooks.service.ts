import { Injectable } from '@nestjs/common';
import type { AuditChange } from '../audit/audit-event.js';
import { firstIdAt } from '../audit/audit-list.service.js';
import { AuditTrail, type ChangeEvent, type Requester } from '../audit/audit-trail.js';
import type { AuditAction } from '../config/audit-actions.js';
import type { WebhookConfig } from '../config/config.js';
import { ApiError } from '../http/errors.js';
import { JsonText } from '../http/json-answers.js';
import { type AdminListQuery, listPage } from '../http/lists.js';
import { resumeWebhook } from './webhook-pause.queries.js';
import { WebhookScheduler } from './webhook-scheduler.js';
import { type WebhookState, WebhookStates } from './webhook-states.queries.js';
import type { WebhookAnswer } from './webhooks.responses.js';

/** Shows and controls webhooks; super-admins only (reference/webhooks). */
@Injectable()
export class WebhooksService {
  constructor(
    private readonly scheduler: WebhookScheduler,
    private readonly states: WebhookStates,
    private readonly audit: AuditTrail,
  ) {}

  /** @throws ApiError 404 `webhook_not_found`. */
  async load(name: string): Promise<WebhookConfig> {
    const webhook = this.scheduler.webhooks.find((one) => one.name === name);
    if (!webhook || !(await this.states.all([name])).has(name)) throw new ApiError('webhook_not_found');
    return webhook;
  }

  async list(query: AdminListQuery): Promise<JsonText> {
    const { webhooks } = this.scheduler;
    const states = await this.states.all(webhooks.map(({ name }) => name));
    const load = async (rows: readonly WebhookConfig[]) =>
      rows.flatMap((webhook) => {
        const state = states.get(webhook.name);
        return state ? [{ name: webhook.name, answer: answerOf(webhook, state) }] : [];
      });
    return new JsonText(await listPage('webhooks', webhooks, query, false, load));
  }

  async deliveries({ name }: WebhookConfig, query: AdminListQuery): Promise<JsonText> {
    const rows = (await this.states.deliveries(name)).map(({ id, type, status, attempts, at, error }) => ({
      name: id,
      answer: { id, type, status, attempts, at, ...(error === null ? {} : { error }) },
    }));
    return new JsonText(await listPage('deliveries', rows, query, false, async (some) => some));
  }

  /** Ends a pause, or the wait for the next attempt. */
  async resume({ name }: WebhookConfig, requester: Requester): Promise<void> {
    await this.audit.transaction(requester, async (manager) => {
      const before = await this.states.lock(manager, name);
      if (before === 'active') return { result: undefined, events: [] };
      await resumeWebhook(manager, name);
      const change = { before: { status: before }, after: { status: 'active' } };
      return { result: undefined, events: [eventOf('webhook.resume', name, change)] };
    });
  }

  /** @param since RFC 3339. */
  async replay(webhook: WebhookConfig, since: string, requester: Requester): Promise<JsonText> {
    const { name } = webhook;
    await this.audit.transaction(requester, async (manager) => {
      await this.states.lock(manager, name);
      await this.states.replay(manager, name, firstIdAt(since));
      return { result: undefined, events: [eventOf('webhook.replay', name, { after: { since } })] };
    });
    const state = (await this.states.all([name])).get(name);
    if (!state) throw new ApiError('webhook_not_found');
    return new JsonText(JSON.stringify(answerOf(webhook, state)));
  }
}

function eventOf(action: AuditAction, name: string, change: AuditChange): ChangeEvent {
  return { action, target: { type: 'webhook', name }, claims: [], change };
}

function answerOf({ name, url, actions, as }: WebhookConfig, state: WebhookState): WebhookAnswer {
  return {
    name,
    host: new URL(url).host,
    actions: actions ? [...actions] : ['*'],
    ...(as ? { as: { claims: as.claims, ...(as.registry === null ? {} : { registry: as.registry }) } } : {}),
    status: state.status,
    lag: state.lag,
    ...(state.lastError === null ? {} : { lastError: state.lastError }),
  };
}
