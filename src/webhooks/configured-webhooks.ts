import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import { type EntityManager, In } from 'typeorm';
import type { Audited, ChangeEvent } from '../audit/audit-trail.js';
import { secretDigest } from '../auth/audited-oauth.js';
import type { WebhookConfig } from '../config/config.js';
import { plain } from '../json/plain.js';
import { formatDuration } from '../validation/value-checks.js';
import { type AppliedWebhook, Webhook } from './webhook.entity.js';

/** Applies the configured webhooks and audits the changes. */
@Injectable()
export class ConfiguredWebhooks {
  /** Slow, because secrets are hashed with slow digests. */
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
    const { gone, changed } = differences(await appliedForms(manager), forms);
    return gone.length + changed.length > 0;
  }

  /**
   * Makes the rows match the configuration. Call in a transaction that holds the catalog lock. A new webhook starts
   * with the next transaction's events; the others keep their place.
   *
   * @returns the changes, such as `webhook siem: created`.
   */
  async apply(manager: EntityManager, forms: readonly AppliedWebhook[]): Promise<Audited<string[]>> {
    const before = await appliedForms(manager);
    const { gone, changed } = differences(before, forms);
    if (gone.length + changed.length === 0) return { result: [], events: [] };
    const event: ChangeEvent = {
      action: 'config.apply',
      target: { type: 'configuration', name: 'webhooks' },
      claims: [],
      change: {
        before: { webhooks: [...before.values()].map((form) => auditedWebhook(form)) },
        after: { webhooks: forms.map((form) => auditedWebhook(form, before.get(form.name))) },
      },
    };
    await manager.delete(Webhook, { name: In(gone) });
    for (const form of changed) await put(manager, form);
    const changes = [
      ...gone.map((name) => `webhook ${name}: removed`),
      ...changed.map(({ name }) => `webhook ${name}: ${before.has(name) ? 'changed' : 'created'}`),
    ];
    return { result: changes, events: [event] };
  }
}

/** Returns the stored forms of the applied webhooks, by name. */
async function appliedForms(manager: EntityManager): Promise<Map<string, AppliedWebhook>> {
  const webhooks = await manager.find(Webhook, {
    select: { id: true, name: true, form: true },
    order: { id: 'ASC' },
  });
  return new Map(webhooks.map(({ name, form }) => [name, form]));
}

/** Changes the stored form of a webhook, or adds a webhook that starts at the current end of the audit trail. */
async function put(manager: EntityManager, form: AppliedWebhook): Promise<void> {
  const { name } = form;
  const { affected } = await manager.update(Webhook, { name }, { form, nextAttemptAt: null });
  if (affected) return;
  const configuredIn = () => 'pg_current_xact_id()::text::bigint';
  await manager.insert(Webhook, { name, form, configuredIn, past: () => 'pg_current_snapshot()::text' });
}

function differences(before: ReadonlyMap<string, AppliedWebhook>, forms: readonly AppliedWebhook[]) {
  const names = new Set(forms.map(({ name }) => name));
  return {
    gone: [...before.keys()].filter((name) => !names.has(name)),
    changed: forms.filter((form) => !isDeepStrictEqual(before.get(form.name), plain(form))),
  };
}

/** Returns the form for the audit trail: a secret is shown as `set`, or as `changed` if it differs from `before`. */
export function auditedWebhook<Form extends Pick<AppliedWebhook, 'url' | 'secret'>>(
  form: Form,
  before: Form = form,
): object {
  const shown = (name: 'url' | 'secret') => (form[name] === before[name] ? 'set' : 'changed');
  return { ...form, url: shown('url'), secret: shown('secret') };
}
