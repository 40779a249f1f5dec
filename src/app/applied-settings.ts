import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { AuditChange } from '../audit/audit-event.js';
import type { Audited, ChangeEvent } from '../audit/audit-trail.js';
import { type AppliedOAuth, appliedOAuth, auditedOAuth, secretDigest } from '../auth/audited-oauth.js';
import { AppliedAuthorization } from '../authz/applied-authorization.entity.js';
import { authorizationForm } from '../authz/policy-in-force.js';
import { type AdmissionWebhookConfig, type Config, oauthInUse } from '../config/config.js';
import { formatDuration } from '../validation/value-checks.js';
import { auditedWebhook, ConfiguredWebhooks } from '../webhooks/configured-webhooks.js';
import type { AppliedWebhook } from '../webhooks/webhook.entity.js';

const ID = 1;

type AppliedAdmissionWebhook = Pick<AdmissionWebhookConfig, 'name' | 'on' | 'onFailure' | 'url'> & {
  readonly host: string;
  readonly timeout: string;
  readonly secret: string;
};

/** `auth`, `admission` and `webhooks` in the form used for comparison and audit. */
interface SettingsForms {
  readonly authorization: AppliedAuthorization['form'];
  readonly oauth: AppliedOAuth | null;
  readonly admission: readonly AppliedAdmissionWebhook[];
  readonly webhooks: readonly AppliedWebhook[];
}

/** Descriptions of the changes, such as `auth.authz: changed`. */
interface SettingsChanges {
  readonly auth: string[];
  readonly others: string[];
  readonly events: readonly ChangeEvent[];
}

/**
 * Audits changes to `auth.authz`, `auth.oauth`, `admission` and `webhooks` (reference/audit). Replicas that apply the same settings
 * record the change once.
 */
@Injectable()
export class AppliedSettings {
  constructor(private readonly webhooks: ConfiguredWebhooks) {}

  /** Slow, because secrets are hashed with slow digests. */
  async formsOf({
    auth,
    admission,
    webhooks,
  }: Pick<Config, 'auth' | 'admission' | 'webhooks'>): Promise<SettingsForms> {
    const oauth = oauthInUse(auth);
    return {
      authorization: JSON.parse(JSON.stringify(authorizationForm(auth))) as AppliedAuthorization['form'],
      oauth: oauth ? await appliedOAuth(oauth) : null,
      admission: await admissionForms(admission.webhooks),
      webhooks: await this.webhooks.formsOf(webhooks),
    };
  }

  /** Whether `apply` would write anything. */
  async differ(
    manager: EntityManager,
    { authorization, oauth, admission, webhooks }: SettingsForms,
  ): Promise<boolean> {
    const last = await manager.findOneBy(AppliedAuthorization, { id: ID });
    const isSame = isDeepStrictEqual(
      [last?.form, last?.oauth ?? null, last?.admission ?? []],
      [authorization, oauth, admission],
    );
    return !isSame || this.webhooks.differ(manager, webhooks);
  }

  /**
   * Writes the differences from the last applied settings. Call it in a transaction that holds the configuration lock.
   *
   * @param waiting paths of changed settings that take effect after a restart.
   */
  async apply(
    manager: EntityManager,
    forms: SettingsForms,
    waiting: readonly string[],
  ): Promise<SettingsChanges> {
    const webhooks = await this.webhooks.apply(manager, forms.webhooks);
    const auth = await applyAuth(manager, forms, waiting);
    const admission = await applyAdmission(manager, forms.admission);
    return {
      auth: auth.result,
      others: [...webhooks.result, ...admission.result],
      events: [...webhooks.events, ...auth.events, ...admission.events],
    };
  }
}

async function applyAuth(
  manager: EntityManager,
  { authorization: form, oauth }: SettingsForms,
  waiting: readonly string[],
): Promise<Audited<string[]>> {
  const last = await manager.findOneBy(AppliedAuthorization, { id: ID });
  if (isDeepStrictEqual([last?.form, last?.oauth ?? null], [form, oauth])) return { result: [], events: [] };
  await manager.save(AppliedAuthorization, { id: ID, form, oauth });
  const changes: string[] = [];
  const events: ChangeEvent[] = [];
  const add = (name: string, change: AuditChange) => {
    const paths = waiting.length > 0 ? { waiting } : {};
    events.push({
      action: 'config.apply',
      target: { type: 'configuration', name },
      claims: [],
      change,
      ...paths,
    });
    changes.push(`${name}: ${!change.before ? 'created' : change.after ? 'changed' : 'removed'}`);
  };
  // There were no rules and there are none now, so there is nothing to record.
  const hasRules = last ? !isDeepStrictEqual(last.form, form) : form.mode === 'full';
  if (hasRules) add('auth.authz', { ...(last ? { before: last.form } : {}), after: form });
  const before = last?.oauth ?? null;
  if (!isDeepStrictEqual(before, oauth)) add('auth.oauth', oauthChange(before, oauth));
  return { result: changes, events };
}

function oauthChange(before: AppliedOAuth | null, after: AppliedOAuth | null): AuditChange {
  return {
    ...(before ? { before: auditedOAuth(before) } : {}),
    ...(after ? { after: auditedOAuth(after, before) } : {}),
  };
}

/** `admission.webhooks` in the form used for comparison, with slow digests of URLs and secrets. */
function admissionForms(webhooks: readonly AdmissionWebhookConfig[]): Promise<AppliedAdmissionWebhook[]> {
  return Promise.all(
    webhooks.map(async ({ name, url, secrets, on, timeoutMs, onFailure }) => ({
      ...{ name, host: new URL(url).host, on, timeout: formatDuration(timeoutMs), onFailure },
      url: await secretDigest(url, `${name} url`),
      secret: await secretDigest(secrets.join('\n'), `${name} secret`),
    })),
  );
}

/** Call it after `applyAuth`, which creates the row. */
async function applyAdmission(
  manager: EntityManager,
  forms: readonly AppliedAdmissionWebhook[],
): Promise<Audited<string[]>> {
  const last = await manager.findOneByOrFail(AppliedAuthorization, { id: ID });
  const before = (last.admission ?? []) as readonly AppliedAdmissionWebhook[];
  if (isDeepStrictEqual(before, forms)) return { result: [], events: [] };
  await manager.update(AppliedAuthorization, { id: ID }, { admission: forms });
  const earlier = (name: string) => before.find((form) => form.name === name);
  const event: ChangeEvent = {
    action: 'config.apply',
    target: { type: 'configuration', name: 'admission' },
    claims: [],
    change: {
      before: { webhooks: before.map((form) => auditedWebhook(form)) },
      after: { webhooks: forms.map((form) => auditedWebhook(form, earlier(form.name))) },
    },
  };
  return { result: ['admission: changed'], events: [event] };
}
