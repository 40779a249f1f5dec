import { AUDIT_ACTIONS, matchingActions, type ViewChange } from '../config/audit-actions.js';
import type { WebhookConfig } from '../config/config.js';
import { HttpClient, retryAfterMs, withoutAddress } from '../outbound/http-client.js';
import { MAX_WEBHOOK_RETRY_AFTER_MS, webhookRetryInMs } from '../outbound/webhook-retry.js';
import { signatureHeaders } from '../outbound/webhook-signature.js';
import type { EntryName } from '../documents/entry-types.js';
import type { ProxyConfig } from '../outbound/dispatcher.js';
import { type Comparison, type FollowedView, type FollowedViews, follow } from './followed-views.js';
import { cloudEventText, type Message, messageOf, orderKey } from './message.js';
import type { WebhookMetrics } from './webhook-metrics.js';
import type { RoundFailure } from './webhook-pause.queries.js';
import type { HeldWebhook, Round, TrailPage, TrailPlace } from './webhook-places.queries.js';
import type { DeliveryAttempt } from './webhook-states.queries.js';

const TIMEOUT_MS = 10_000;
/** Concurrent requests to one receiver. */
const MAX_CONCURRENT = 8;
/** How long messages about a view are sent before the view is read again. */
const VIEW_MS = 1_000;

/** The messages of one round. */
interface MessagePage {
  readonly messages: readonly Message[];
  /** See ViewMessages. */
  readonly compared?: Comparison | undefined;
  readonly delivered: Set<Message>;
  /** The places before and after the messages. */
  readonly place: TrailPlace;
  readonly next: TrailPlace;
  /** Time on the `performance.now()` clock. */
  readonly readAt: number;
}

export interface WebhookDeliveryOptions {
  readonly id: number;
  readonly name: string;
  /** Aborts when this replica must stop sending. */
  readonly signal: AbortSignal;
  readonly source: () => string | null;
  readonly proxy: ProxyConfig;
  readonly views: FollowedViews;
  readonly metrics: WebhookMetrics;
  /** Saves the result of a round; returns false if the lease was lost, or a request changed the place. */
  readonly save: (round: Round) => Promise<boolean>;
  /** The delivery under an earlier lease: it has been aborted, but its last round might not have ended. */
  readonly before: WebhookDelivery | undefined;
}

/**
 * Sends the events of one webhook while this replica holds its lease: round by round, messages about one target in
 * order, and messages about different targets concurrently. After a failure, sends nothing until the next attempt.
 */
export class WebhookDelivery {
  private readonly http: HttpClient;
  private view: FollowedView | undefined;
  /** IDs of delivered messages that the webhook's place has not passed yet, and the generation of that place. */
  private ahead = { generation: 0, ids: new Set<string>() };
  /** Ends with the current round; undefined between rounds. */
  private current: Promise<void> | undefined;

  constructor(readonly options: WebhookDeliveryOptions) {
    this.http = new HttpClient({ maxConnections: MAX_CONCURRENT, proxy: options.proxy });
    if (options.before) this.current = this.until(options.before.close());
  }

  get isBusy(): boolean {
    return this.current !== undefined;
  }

  /** Resolves when the current round has ended. */
  async close(): Promise<void> {
    await this.current?.catch(() => undefined);
    await this.http.close();
  }

  /** Whether to begin a round. */
  isDue(config: WebhookConfig, held: HeldWebhook): boolean {
    if (held.isPaused || held.waitMs > 0) return false;
    if (this.view?.as !== config.as) this.view = config.as ? follow(config.as) : undefined;
    return held.isBehind || (this.view !== undefined && this.options.views.isOutdated(this.view));
  }

  /**
   * Begins to send a page of the trail.
   *
   * @throws any error of the database.
   */
  begin(config: WebhookConfig, held: HeldWebhook, trail: TrailPage): Promise<void> {
    this.current = this.until(this.round(config, held, trail));
    return this.current;
  }

  private until(ended: Promise<void>): Promise<void> {
    return ended.finally(() => (this.current = undefined));
  }

  private async round(config: WebhookConfig, held: HeldWebhook, trail: TrailPage): Promise<void> {
    await this.deliver(await this.pageOf(config, held, trail), config, held);
  }

  private async pageOf(
    config: WebhookConfig,
    held: HeldWebhook,
    { events, next }: TrailPage,
  ): Promise<MessagePage> {
    const actions = actionsOf(config);
    const wants = (action: string) => actions?.some((one) => one === action) ?? true;
    const { messages, compared } = this.view
      ? await this.options.views.messagesOf(held.id, this.view, { events, next }, wants)
      : { messages: events.filter(({ action }) => wants(action)).map(messageOf) };
    const { past, since, until, after, latest } = held;
    const place = { past, since, until, after, latest };
    const isAhead = ({ id }: Message) => this.ahead.generation === held.generation && this.ahead.ids.has(id);
    return {
      ...{ readAt: performance.now(), place, messages, compared, next: compared ? place : next },
      delivered: new Set(messages.filter(isAhead)),
    };
  }

  /** Sends a page and saves the progress. */
  private async deliver(page: MessagePage, config: WebhookConfig, held: HeldWebhook): Promise<void> {
    const { messages, delivered } = page;
    const { generation } = held;
    const { signal, metrics } = this.options;
    const attempts: DeliveryAttempt[] = [];
    const left = messages.filter((message) => !delivered.has(message));
    let failure: RoundFailure | null = null;
    // Entries of a view may be hidden soon.
    const isOver = () =>
      failure !== null || signal.aborted || (this.view && performance.now() - page.readAt > VIEW_MS);
    const known: Message[] = [];
    const send = async (message: Message): Promise<boolean> => {
      const failed = await this.send(message, config);
      if (signal.aborted && failed) return false;
      metrics.attempted(config.name, failed ? 'failed' : 'delivered');
      attempts.push({ id: message.id, type: message.type, error: failed?.error });
      if (!failed) {
        delivered.add(message);
        known.push(message);
      } else {
        const backOff = webhookRetryInMs(held.attempts + 1);
        failure ??= { ...failed, backOffMs: backOff, retryForMs: config.retryForMs };
      }
      return !failed;
    };
    const lanes = inOrder(left);
    const work = async () => {
      for (let lane = lanes.shift(); lane; lane = lanes.shift())
        for (const message of lane) if (isOver() || !(await send(message))) return;
    };
    // The receiver first gets a single message after a failure.
    const [first] = lanes[0] ?? [];
    if (held.attempts > 0 && first && (await send(first))) lanes[0]?.shift();
    if (!failure) await Promise.all(Array.from({ length: MAX_CONCURRENT }, work));
    const undelivered = messages.find((message) => !delivered.has(message));
    const hasDelivered = attempts.some(({ error }) => error === undefined);
    this.ahead = { generation, ids: new Set([...delivered].map(({ id }) => id)) };
    const isSaved = await this.options.save({
      ...{ id: held.id, generation, attempts, failure, hasDelivered },
      place: undelivered ? placeBefore(page, undelivered) : page.next,
      behindSince:
        undelivered?.event.time ?? (page.next.until === null ? null : messages.at(-1)?.event.time) ?? null,
      added: entriesOf(known, 'entry.added'),
      removed: entriesOf(known, 'entry.removed'),
    });
    if (undelivered) return;
    this.ahead.ids.clear();
    if (this.view && page.compared && isSaved) this.view.compared = page.compared;
  }

  private async send(
    message: Message,
    { url, secrets }: WebhookConfig,
  ): Promise<Pick<RoundFailure, 'error' | 'retryAfterMs'> | null> {
    const body = cloudEventText(message, this.options.source());
    try {
      const { status, headers } = await this.http.post(url, body, {
        headers: {
          'content-type': 'application/cloudevents+json',
          'user-agent': 'registry-server',
          ...signatureHeaders(secrets, encodeURI(message.id), new Date(), body),
        },
        ...{ timeoutMs: TIMEOUT_MS, maxBytes: 0, allowPrivate: true, signal: this.options.signal },
      });
      if (status >= 200 && status < 300) return null;
      const wait = retryAfterMs(headers['retry-after'], Date.now()) ?? 0;
      const isRedirect = status >= 300 && status < 400;
      return {
        error: `it responded with status ${status}${isRedirect ? ', and redirects are not followed' : ''}`,
        retryAfterMs: Math.min(wait, MAX_WEBHOOK_RETRY_AFTER_MS),
      };
    } catch (error) {
      return { error: withoutAddress(error), retryAfterMs: 0 };
    }
  }
}

/** Returns the actions that a webhook receives; null for all. */
export function actionsOf({ actions }: WebhookConfig): readonly string[] | null {
  return actions?.flatMap((pattern) => matchingActions(pattern, AUDIT_ACTIONS)) ?? null;
}

function entriesOf(messages: readonly Message[], change: ViewChange): EntryName[] {
  return messages.filter(({ type }) => type === change).map(({ data }) => data as EntryName);
}

/** Groups messages that must be delivered in order. */
function inOrder(messages: readonly Message[]): Message[][] {
  const lanes = new Map<string, Message[]>();
  for (const message of messages) {
    const lane = lanes.get(orderKey(message)) ?? [];
    lanes.set(orderKey(message), lane);
    lane.push(message);
  }
  return [...lanes.values()];
}

/** Returns the place from which all undelivered events are read again. */
function placeBefore({ messages, compared, place }: MessagePage, undelivered: Message): TrailPlace {
  if (compared) return place;
  // An event may cause several messages about a view.
  const before = messages
    .slice(0, messages.indexOf(undelivered))
    .findLast(({ event }) => event.id !== undelivered.event.id);
  return { ...place, after: before?.event.id ?? place.after };
}
