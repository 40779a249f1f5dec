import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { RecordChange } from '../audit/audit-trail.js';
import { secretDigest } from '../auth/audited-oauth.js';
import type { WebhookConfig } from '../config/config.js';
import { formatDuration } from '../validation/value-checks.js';
import type { AppliedWebhook } from './webhook.entity.js';
import { WebhookPlaces } from './webhook-places.queries.js';

/** Applies the webhooks of the configuration, and audits changes. */
@Injectable()
export class ConfiguredWebhooks {
  constructor(private readonly places: WebhookPlaces) {}

  /** Takes a while: secrets are digested slowly. */
  formsOf(webhooks: readonly WebhookConfig[]): Promise<AppliedWebhook[]> {
    return Promise.all(
      webhooks.map(async ({ name, url, secrets, actions, retryForMs, as }) => ({
        ...{ name, host: new URL(url).host, actions, retryFor: formatDuration(retryForMs), as },
        url: await secretDigest(url, `${name} url`),
        secret: await secretDigest(secrets.join('\n'), `${name} secret`),
      })),
    );
  }

  /** Whether `apply` would write anything. */
  async differ(manager: EntityManager, forms: readonly AppliedWebhook[]): Promise<boolean> {
    const { gone, changed } = differences(await this.places.applied(manager), forms);
    return gone.length + changed.length > 0;
  }

  /**
   * Makes the rows match the configuration. Call in a transaction that holds the catalog lock. A new webhook begins
   * with the next transaction's events; any other keeps its place.
   *
   * @returns the changes, such as `webhook siem: created`.
   */
  async apply(
    manager: EntityManager,
    forms: readonly AppliedWebhook[],
    record: RecordChange,
  ): Promise<string[]> {
    const before = await this.places.applied(manager);
    const { gone, changed } = differences(before, forms);
    if (gone.length + changed.length === 0) return [];
    await record({
      action: 'config.apply',
      target: { type: 'configuration', name: 'webhooks' },
      claims: [],
      change: {
        before: { webhooks: [...before.values()].map((form) => auditedWebhook(form)) },
        after: { webhooks: forms.map((form) => auditedWebhook(form, before.get(form.name))) },
      },
    });
    await this.places.remove(manager, gone);
    for (const form of changed) await this.places.put(manager, form);
    return [
      ...gone.map((name) => `webhook ${name}: removed`),
      ...changed.map(({ name }) => `webhook ${name}: ${before.has(name) ? 'changed' : 'created'}`),
    ];
  }
}

function differences(before: ReadonlyMap<string, AppliedWebhook>, forms: readonly AppliedWebhook[]) {
  const names = new Set(forms.map(({ name }) => name));
  return {
    gone: [...before.keys()].filter((name) => !names.has(name)),
    changed: forms.filter((form) => !isDeepStrictEqual(before.get(form.name), plain(form))),
  };
}

function plain(form: AppliedWebhook): unknown {
  return JSON.parse(JSON.stringify(form)) as unknown;
}

/** Returns the form for the audit trail: a secret is only `set`, or `changed` where it differs from `before`. */
export function auditedWebhook<Form extends Pick<AppliedWebhook, 'url' | 'secret'>>(
  form: Form,
  before: Form = form,
): object {
  const shown = (name: 'url' | 'secret') => (form[name] === before[name] ? 'set' : 'changed');
  return { ...form, url: shown('url'), secret: shown('secret') };
}
