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
import { FollowedViews } from './followed-views.js';
import { actionsOf, WebhookDelivery } from './webhook-delivery.js';
import { WebhookMetrics } from './webhook-metrics.js';
import { type HeldWebhook, type Round, type TrailPage, WebhookPlaces } from './webhook-places.queries.js';
import { WebhookStates } from './webhook-states.queries.js';

const LEASE_POLL_MS = 2_000;
const LEASE_MS = 10_000;
const RENEW_MS = 3_000;
const STOP_TIMEOUT_MS = 2_000;
/** How often the trail is read while this replica writes no events. */
const IDLE_MS = 500;
/** Events within this time are read together, and rounds that end within it are saved together. */
const TOGETHER_MS = 50;

/** A webhook that may begin a round. */
interface Due {
  readonly delivery: WebhookDelivery;
  readonly config: WebhookConfig;
  readonly held: HeldWebhook;
}

/** The scheduler needs two of them. */
class Loop extends Polling {
  constructor(
    protected readonly poll: () => Promise<void>,
    ...options: ConstructorParameters<typeof Polling>
  ) {
    super(...options);
  }
}

/**
 * Sends the configured webhooks. Each is leased, so that only one replica sends it; the leases of a dead replica
 * expire. Webhooks at the same place share one read of the trail, and one transaction saves many rounds, so the load on
 * the database hardly grows with the number of webhooks.
 */
@Injectable()
export class WebhookScheduler implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('webhooks');
  private readonly owner = randomUUID();
  private configs: ReadonlyMap<string, WebhookConfig>;
  private readonly deliveries = new Map<number, WebhookDelivery>();
  private readonly stopping = new AbortController();
  private readonly renewal: LeaseRenewal;
  private readonly leasing: Polling;
  private readonly reading: Polling;
  private waking: NodeJS.Timeout | undefined;
  /** Rounds that will be saved together. */
  private saving: { readonly rounds: Round[]; readonly saved: Promise<ReadonlySet<number>> } | undefined;
  private lastSave: Promise<unknown> = Promise.resolve();
  /** Webhooks with attempts since old deliveries were last deleted. */
  private attempted = new Set<number>();

  constructor(
    private readonly places: WebhookPlaces,
    private readonly states: WebhookStates,
    private readonly trail: AuditTrail,
    private readonly oauth: OAuthInForce,
    private readonly views: FollowedViews,
    private readonly metrics: WebhookMetrics,
    @Inject(webhooksConfig.KEY) { webhooks }: ConfigType<typeof webhooksConfig>,
    @Inject(outboundConfig.KEY) private readonly outbound: ConfigType<typeof outboundConfig>,
  ) {
    this.configs = byName(webhooks);
    this.renewal = new LeaseRenewal((ms) => this.places.renew(this.owner, ms), LEASE_MS, RENEW_MS);
    this.leasing = new Loop(() => this.takeFree(), LEASE_POLL_MS, this.logger, {
      failed: 'Looking for webhooks without a sender failed',
    });
    this.reading = new Loop(() => this.readTrail(), IDLE_MS, this.logger, {
      failed: 'Reading the audit trail for webhooks failed; it will be retried',
    });
  }

  onApplicationBootstrap(): void {
    this.trail.onWritten(() => this.wake());
    this.leasing.begin();
    this.reading.begin();
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.leasing.end(), this.reading.end()]);
    clearTimeout(this.waking);
    this.stopping.abort();
    this.renewal.end();
    const ended = Promise.all([...this.deliveries.values()].map((delivery) => delivery.close()));
    await Promise.race([ended, sleep(STOP_TIMEOUT_MS, undefined, { ref: false })]);
    if (this.configs.size > 0) await this.places.release(this.owner).catch(() => undefined);
  }

  /** The webhooks in force. */
  get webhooks(): readonly WebhookConfig[] {
    return [...this.configs.values()];
  }

  /** Applies changed webhooks; their rows have already been updated. */
  replace(webhooks: readonly WebhookConfig[]): void {
    this.configs = byName(webhooks);
    this.leasing.pollNow();
  }

  private async takeFree(): Promise<void> {
    if (this.configs.size === 0) return;
    for (const { id, name } of await this.places.take(this.owner, [...this.configs.keys()], LEASE_MS)) {
      const { taken, expired } = this.renewal.hold(id);
      const delivery = new WebhookDelivery({
        ...{ id, name, proxy: this.outbound.proxy, views: this.views, metrics: this.metrics },
        signal: AbortSignal.any([this.stopping.signal, taken, expired]),
        source: () => this.oauth.settings?.resourceUrl ?? null,
        save: (round) => this.save(round),
        before: this.deliveries.get(id),
      });
      this.deliveries.set(id, delivery);
      this.wake();
    }
    const attempted = [...this.attempted];
    this.attempted.clear();
    if (attempted.length > 0) await this.states.forgetDeliveries(attempted);
  }

  /** Reads the trail after `ms` milliseconds, unless it is read sooner for another reason. */
  private wake(ms = TOGETHER_MS): void {
    if (this.stopping.signal.aborted) return;
    this.waking ??= setTimeout(() => {
      this.waking = undefined;
      this.reading.pollNow();
    }, ms);
  }

  /** Begins a round of each webhook that has something to send. */
  private async readTrail(): Promise<void> {
    if (this.deliveries.size === 0) return;
    // A round that ends during the statement has already moved its place, and requests the next poll when it ends.
    const busy = new Set([...this.deliveries.values()].filter(({ isBusy }) => isBusy));
    const states = await this.places.held(this.owner);
    if (states.some(({ isForeign }) => isForeign)) {
      await this.places.restart(this.owner);
      this.wake();
      return;
    }
    const atPlace = new Map<string, [Due, ...Due[]]>();
    for (const due of this.due(states)) {
      if (busy.has(due.delivery) || !due.delivery.isDue(due.config, due.held)) continue;
      const { past, since, until, after, latest, configuredIn } = due.held;
      const place = JSON.stringify([past, since, until, after, latest, configuredIn]);
      const others = atPlace.get(place);
      if (others) others.push(due);
      else atPlace.set(place, [due]);
    }
    for (const together of atPlace.values()) {
      const page = await this.places.page(together[0].held, sentTo(together));
      for (const due of together) this.beginRound(due, page);
    }
  }

  /** Returns the webhooks that are between two rounds, and drops those that this replica no longer sends. */
  private due(states: readonly HeldWebhook[]): Due[] {
    const byId = new Map(states.map((held) => [held.id, held]));
    const due: Due[] = [];
    for (const [id, delivery] of this.deliveries) {
      const { name, signal } = delivery.options;
      const [held, config] = [byId.get(id), this.configs.get(name)];
      if (held && config && !signal.aborted) {
        this.metrics.observe(name, held);
        if (held.waitMs > 0 && held.waitMs < IDLE_MS) this.wake(held.waitMs);
        if (!delivery.isBusy) due.push({ delivery, config, held });
        continue;
      }
      this.deliveries.delete(id);
      this.metrics.forget(name);
      void delivery.close();
    }
    return due;
  }

  private beginRound({ delivery, config, held }: Due, page: TrailPage): void {
    delivery.begin(config, held, page).then(
      () => this.wake(),
      (error: unknown) => {
        if (!isDatabaseUnreachable(error))
          this.logger.error(
            { err: error, webhook: config.name },
            'Sending a webhook failed; it will be retried',
          );
      },
    );
  }

  private async save(round: Round): Promise<boolean> {
    if (round.attempts.length > 0) this.attempted.add(round.id);
    this.saving ??= this.saveSoon();
    this.saving.rounds.push(round);
    return (await this.saving.saved).has(round.id);
  }

  private saveSoon(): { rounds: Round[]; saved: Promise<ReadonlySet<number>> } {
    const rounds: Round[] = [];
    const saved = Promise.all([this.lastSave, sleep(TOGETHER_MS)]).then(() => {
      this.saving = undefined;
      return this.places.save(this.owner, rounds);
    });
    this.lastSave = saved.catch(() => undefined);
    return { rounds, saved };
  }
}

/** Returns the actions that any of these webhooks needs; null for all actions, which followed views require. */
function sentTo(webhooks: readonly Due[]): readonly string[] | null {
  const actions = webhooks.map(({ config }) => (config.as ? null : actionsOf(config)));
  return actions.includes(null) ? null : [...new Set(actions.flatMap((some) => some ?? []))];
}

function byName(webhooks: readonly WebhookConfig[]): ReadonlyMap<string, WebhookConfig> {
  return new Map(webhooks.map((webhook) => [webhook.name, webhook]));
}
