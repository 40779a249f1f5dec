import { randomUUID } from 'node:crypto';
import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { Histogram } from 'prom-client';
import { type Publisher, publisherOf } from '../audit/audit-event.js';
import { type Caller, callerKeyOf } from '../auth/caller.js';
import type { Claims } from '../claims/claims.js';
import type { AdmissionWebhookConfig } from '../config/config.js';
import { admissionConfig, outboundConfig } from '../config/slices.js';
import { MAX_ADMISSION_WEBHOOKS } from '../config/webhook-settings.dto.js';
import { toProse } from '../documents/document-problem.js';
import type { VersionName } from '../documents/entry-types.js';
import { ApiError } from '../http/errors.js';
import { clientNetwork, type RequestContext } from '../http/request-context.js';
import { elements, isObject, member } from '../json/json-values.js';
import { Quota } from '../limits/quota.js';
import { Semaphore } from '../limits/semaphore.js';
import { HttpClient, withoutAddress } from '../outbound/http-client.js';
import { signatureHeaders } from '../outbound/webhook-signature.js';
import { Metrics } from '../telemetry/metrics.js';
import { toStorable } from '../validation/storable-text.js';
import { type AskedPublication, type Publication, refusedPublication } from './publication.js';
import type { HoldReason } from './hold-reason.js';

/** Maximum concurrent requests to one webhook, counted separately for publications and held versions. */
export const MAX_CONCURRENT = 8;
/** Maximum publications per person waiting for webhooks. */
const MAX_PER_PERSON = 10;
const MAX_BYTES = 64 * 1024;
const MAX_REASONS = 10;
const MAX_REASON = 500;

/** The version that a webhook is asked about. */
export interface AskedVersion extends VersionName {
  /** ID of the item, even if the item is never stored; a repeated question has the same ID. */
  readonly id: string;
  readonly source: string;
  /** The document as JSON text. */
  readonly document: string | Buffer;
  readonly claims: Claims;
  readonly publisher: Publisher | null;
}

/** The outcome of a webhook; `failure` if it gave no valid response. */
export interface AdmissionAnswer {
  readonly outcome: 'admit' | 'hold' | 'reject' | 'failure';
  readonly reasons: readonly string[];
}

const ADMISSION_OUTCOMES = ['admit', 'hold', 'reject', 'failure'] as const;

const ADMISSION_DURATIONS_S = [0.01, 0.05, 0.1, 0.5, 1, 5, 30];

/** Calls the configured admission webhooks (reference/admission). Never call it inside a transaction. */
@Injectable()
export class AdmissionWebhooks implements OnApplicationShutdown {
  private readonly logger = new Logger('admission');
  private readonly http: HttpClient;
  private readonly publications = new Map<string, Semaphore>();
  private readonly asking = new Quota({ perKey: MAX_PER_PERSON });
  /** Names of webhooks whose last request failed. */
  private readonly failing = new Set<string>();
  private configs: readonly AdmissionWebhookConfig[] = [];
  private readonly durations: Histogram<'webhook' | 'outcome'>;

  constructor(
    { register }: Metrics,
    @Inject(admissionConfig.KEY) { webhooks }: ConfigType<typeof admissionConfig>,
    @Inject(outboundConfig.KEY) { proxy }: ConfigType<typeof outboundConfig>,
  ) {
    this.durations = new Histogram({
      name: 'registry_admission_webhook_duration_seconds',
      help: 'Duration of requests to admission webhooks',
      labelNames: ['webhook', 'outcome'],
      buckets: ADMISSION_DURATIONS_S,
      registers: [register],
    });
    // Allows as many connections as there can be requests, so webhooks at one origin do not wait for each other.
    this.http = new HttpClient({ maxConnections: 2 * MAX_CONCURRENT * MAX_ADMISSION_WEBHOOKS, proxy });
    this.replace(webhooks);
  }

  onApplicationShutdown(): Promise<void> {
    return this.http.close();
  }

  /** The webhooks in force that are asked about publications, or about synced versions. */
  on(event: 'publish' | 'sync'): readonly AdmissionWebhookConfig[] {
    return this.configs.filter(({ on }) => on.includes(event));
  }

  get all(): readonly AdmissionWebhookConfig[] {
    return this.configs;
  }

  replace(webhooks: readonly AdmissionWebhookConfig[]): void {
    this.configs = webhooks;
    // Prometheus sees increases only in series that it has scraped before.
    for (const { name: webhook } of webhooks)
      for (const outcome of ADMISSION_OUTCOMES) this.durations.zero({ webhook, outcome });
  }

  get asksAboutPublications(): boolean {
    return this.on('publish').length > 0;
  }

  /**
   * Asks all webhooks about a publication, at the same time. The worst outcome counts.
   *
   * @throws ApiError 403 `admission_rejected`; 429 `too_many_requests` if too many of the caller's publications are
   *   waiting.
   * @throws SemaphoreTimeout if too many other requests wait. A webhook that was not asked has not failed.
   */
  async askAboutPublication(publication: Publication, context: RequestContext): Promise<AskedPublication> {
    const { source, version, claims, caller } = publication;
    const id = randomUUID();
    const key = keyOf(caller, context);
    const publisher = publisherOf(caller);
    const { type, name, document } = version;
    const asked = {
      ...{ id, source: source.name, type, name, version: version.version },
      ...{ claims, publisher, document },
    };
    if (!this.asking.tryAcquire(key))
      throw new ApiError(
        'too_many_requests',
        `Admission webhooks are still deciding ${MAX_PER_PERSON} of your publications, the maximum`,
        undefined,
        { headers: { 'Retry-After': '5' } },
      );
    try {
      const answers = await Promise.all(
        this.on('publish').map((config) =>
          this.semaphoreOf(config).run(key, undefined, async () => ({
            config,
            answer: await this.ask(config, asked),
          })),
        ),
      );
      const rejections = answers.flatMap(({ config, answer }) =>
        answerOutcome(config, answer) === 'reject' ? reasonsOf(config, answer) : [],
      );
      if (rejections.length > 0) throw rejected(publication, rejections);
      const held = answers.filter(({ config, answer }) => answerOutcome(config, answer) === 'hold');
      return {
        id,
        reasons: held.flatMap(({ config, answer }) => reasonsOf(config, answer)),
        failed: held.flatMap(({ config, answer }) => (answer.outcome === 'failure' ? [config.name] : [])),
      };
    } finally {
      this.asking.release(key);
    }
  }

  /**
   * Asks one webhook. A redirect, or any other response that is not valid or exceeds the limits, counts as a failure.
   */
  async ask(config: AdmissionWebhookConfig, asked: AskedVersion): Promise<AdmissionAnswer> {
    const body = bodyOf(asked);
    const started = performance.now();
    const answer = await this.http
      .postJson(config.url, body, {
        headers: {
          'content-type': 'application/json',
          'user-agent': 'registry-server',
          ...signatureHeaders(config.secrets, asked.id, new Date(), body),
        },
        ...{ timeoutMs: config.timeoutMs, maxBytes: MAX_BYTES, allowPrivate: true },
      })
      .then(readAnswer)
      .catch((error: unknown) => this.failed(config, error));
    const seconds = (performance.now() - started) / 1_000;
    this.durations.observe({ webhook: config.name, outcome: answer.outcome }, seconds);
    if (answer.outcome !== 'failure' && this.failing.delete(config.name))
      this.logger.log({ webhook: config.name }, 'An admission webhook responds again');
    return answer;
  }

  private failed({ name, onFailure }: AdmissionWebhookConfig, error: unknown): AdmissionAnswer {
    const report = { webhook: name, onFailure, reason: withoutAddress(error) };
    if (!this.failing.has(name)) this.logger.warn(report, 'An admission webhook fails');
    this.failing.add(name);
    return { outcome: 'failure', reasons: [] };
  }

  private semaphoreOf({ name }: AdmissionWebhookConfig): Semaphore {
    const semaphore = this.publications.get(name) ?? new Semaphore(MAX_CONCURRENT);
    this.publications.set(name, semaphore);
    return semaphore;
  }
}

/** Returns what a webhook's response means for the version. */
export function answerOutcome(
  { onFailure }: AdmissionWebhookConfig,
  { outcome }: AdmissionAnswer,
): 'admit' | 'hold' | 'reject' {
  return outcome === 'failure' ? onFailure : outcome;
}

/** Returns the reason to show to people: why a webhook holds or rejects a version. */
export function reasonsOf(
  { name }: Pick<AdmissionWebhookConfig, 'name'>,
  answer: AdmissionAnswer,
): HoldReason[] {
  const { outcome, reasons } = answer;
  if (outcome === 'failure')
    return [{ ...reasonOf(name, `The webhook ${name} could not be asked`), failed: true }];
  const texts = reasons.length > 0 ? reasons : [`The webhook ${name} gave no reason`];
  return texts.map((text) => reasonOf(name, text));
}

/** Returns the reason for holding a version that a webhook has not decided yet. */
export function waitingFor(name: string): HoldReason {
  return reasonOf(name, `The webhook ${name} has not responded yet`);
}

function reasonOf(webhook: string, message: string): HoldReason {
  return { policy: 'webhook', message, webhook };
}

function rejected(publication: Publication, reasons: readonly HoldReason[]): ApiError {
  const messages = reasons.map(({ message }) => message);
  const sentence = `This version was rejected: ${messages.join('; ')}`;
  return refusedPublication('admission_rejected', publication, sentence, messages);
}

function keyOf(caller: Caller, { sourceIp }: RequestContext): string {
  return callerKeyOf(caller, { clientKey: clientNetwork(sourceIp ?? undefined) });
}

// The document is sent unchanged: parsing it could change its numbers.
function bodyOf({ document, publisher, ...others }: AskedVersion): string {
  const members = JSON.stringify({ ...others, ...(publisher ? { publisher } : {}) });
  return `${members.slice(0, -1)},"document":${document.toString()}}`;
}

/** @throws Error if the response is malformed. */
function readAnswer(json: unknown): AdmissionAnswer {
  const outcome = member(json, 'outcome');
  const reasons = isObject(json) ? json['reasons'] : undefined;
  if (outcome !== 'admit' && outcome !== 'hold' && outcome !== 'reject')
    throw new Error('the response needs an outcome: admit, hold or reject');
  if (reasons !== undefined && !(Array.isArray(reasons) && reasons.every((one) => typeof one === 'string')))
    throw new Error('the reasons in the response are not a list of strings');
  return {
    outcome,
    reasons: elements(reasons)
      .slice(0, MAX_REASONS)
      .map((text) => toProse(toStorable(String(text), MAX_REASON))),
  };
}
