import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { AuditTrail } from '../audit/audit-trail.js';
import { OAuthInForce } from '../auth/oauth-in-force.js';
import type { WebhookConfig } from '../config/config.js';
import { outboundConfig, webhooksConfig } from '../config/slices.js';
import { isDatabaseUnreachable } from '../database/database-errors.js';
import { LeaseRenewal } from '../database/lease-renewal.js';
import { Polling } from '../database/polling.js';
import { WebhookMetrics } from '../telemetry/registry-metrics.js';
import { FollowedViews } from './followed-views.js';
import { WebhookPlaces } from './webhook-places.queries.js';
import { WebhookRun } from './webhook-run.js';

const POLL_MS = 2_000;
const LEASE_MS = 10_000;
const RENEW_MS = 3_000;
const STOP_TIMEOUT_MS = 2_000;
const RETRY_MS = 1_000;

/**
 * Sends the webhooks of the configuration. Each is leased, so that one replica sends; the leases of a dead replica
 * expire.
 */
@Injectable()
export class WebhookSender implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('webhooks');
  private readonly owner = randomUUID();
  private configs: ReadonlyMap<string, WebhookConfig>;
  private readonly runs = new Map<number, { readonly run: WebhookRun; readonly ended: Promise<void> }>();
  private readonly stopping = new AbortController();
  private readonly renewal: LeaseRenewal;
  private readonly polling: Polling;

  constructor(
    private readonly places: WebhookPlaces,
    private readonly trail: AuditTrail,
    private readonly oauth: OAuthInForce,
    private readonly views: FollowedViews,
    private readonly metrics: WebhookMetrics,
    @Inject(webhooksConfig.KEY) { webhooks }: ConfigType<typeof webhooksConfig>,
    @Inject(outboundConfig.KEY) private readonly outbound: ConfigType<typeof outboundConfig>,
  ) {
    this.configs = byName(webhooks);
    this.renewal = new LeaseRenewal((ms) => this.places.renew(this.owner, ms), LEASE_MS, RENEW_MS);
    this.polling = new Polling(() => this.takeFree(), POLL_MS, this.logger, {
      failed: 'Looking for webhooks without a sender failed',
    });
  }

  onApplicationBootstrap(): void {
    this.trail.onWritten(() => {
      for (const { run } of this.runs.values()) run.wake();
    });
    this.polling.begin();
  }

  async onApplicationShutdown(): Promise<void> {
    const polled = this.polling.end();
    await polled;
    this.stopping.abort();
    this.renewal.end();
    const ended = Promise.all([...this.runs.values()].map((run) => run.ended));
    await Promise.race([ended, sleep(STOP_TIMEOUT_MS, undefined, { ref: false })]);
    if (this.configs.size > 0) await this.places.release(this.owner).catch(() => undefined);
  }

  /** The webhooks in force. */
  get webhooks(): readonly WebhookConfig[] {
    return [...this.configs.values()];
  }

  /** Applies changed webhooks, whose rows have been changed. */
  replace(webhooks: readonly WebhookConfig[]): void {
    this.configs = byName(webhooks);
    this.polling.pollNow();
  }

  private async takeFree(): Promise<void> {
    if (this.configs.size === 0) return;
    for (const { id, name } of await this.places.take(this.owner, [...this.configs.keys()], LEASE_MS)) {
      const run = new WebhookRun(this.places, {
        ...{ id, owner: this.owner, proxy: this.outbound.proxy, views: this.views, metrics: this.metrics },
        config: () => this.configs.get(name),
        source: () => this.oauth.settings?.resourceUrl ?? null,
      });
      const { taken, expired } = this.renewal.hold(id);
      const signal = AbortSignal.any([this.stopping.signal, taken, expired]);
      const before = this.runs.get(id)?.ended;
      const ended = this.keepRunning(run, name, signal, before).finally(() => {
        if (this.runs.get(id)?.run !== run) return;
        this.runs.delete(id);
        this.metrics.forget(name);
      });
      this.runs.set(id, { run, ended });
    }
  }

  // Never rejects.
  private async keepRunning(
    run: WebhookRun,
    webhook: string,
    signal: AbortSignal,
    before: Promise<void> | undefined,
  ): Promise<void> {
    await before;
    while (!signal.aborted)
      try {
        await run.run(signal);
        return;
      } catch (error) {
        if (!isDatabaseUnreachable(error))
          this.logger.error({ err: error, webhook }, 'Sending a webhook failed; it will be retried');
        await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
      }
  }
}

function byName(webhooks: readonly WebhookConfig[]): ReadonlyMap<string, WebhookConfig> {
  return new Map(webhooks.map((webhook) => [webhook.name, webhook]));
}
