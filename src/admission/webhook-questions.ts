import { Injectable, Logger } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { ADMISSION_ACTOR } from '../audit/audit-event.js';
import { AuditTrail } from '../audit/audit-trail.js';
import type { AdmissionWebhookConfig } from '../config/config.js';
import { transactionTime, waitForLocks } from '../database/locks.js';
import { Polling } from '../database/polling.js';
import { webhookRetryInMs } from '../outbound/webhook-retry.js';
import { SourceStates } from '../sources/source-states.queries.js';
import { lockSource } from '../sources/sources.repository.js';
import {
  AdmissionWebhooks,
  MAX_CONCURRENT,
  answerOutcome,
  reasonsOf,
  type AdmissionAnswer,
} from './admission-webhooks.js';
import { DueItems } from './due-items.queries.js';
import { countHeld, setReasons } from './held-items.queries.js';
import { endItem } from './item-decisions.queries.js';
import { itemEvent } from './item-event.js';
import type { HoldReason } from './hold-reason.js';
import {
  type AnsweredItem,
  askedVersion,
  endQuestions,
  lockAnswered,
  postponeQuestion,
  type WebhookQuestion,
  takeQuestions,
} from './webhook-questions.queries.js';

const EVERY_MS = 1_000;
/** Must exceed the duration of any request, and the time for which a sync locks its source while writing. */
const LEASE_MS = 120_000;
/** Responses written per transaction. */
const MAX_ANSWERS = 200;

interface Answered {
  readonly question: WebhookQuestion;
  readonly config: AdmissionWebhookConfig;
  readonly answer: AdmissionAnswer;
  /** When another replica may ask again, by `performance.now()`. */
  readonly until: number;
}

/**
 * Asks the admission webhooks about held versions, and applies their responses (reference/admission). Holds no database
 * connection while it waits for a webhook, and writes responses one transaction at a time.
 */
@Injectable()
export class WebhookQuestions extends Polling {
  /** Number of requests in progress, by webhook. */
  private readonly inFlight = new Map<string, number>();
  private answers: Answered[] = [];

  constructor(
    private readonly dataSource: DataSource,
    private readonly webhooks: AdmissionWebhooks,
    private readonly due: DueItems,
    private readonly audit: AuditTrail,
    private readonly states: SourceStates,
  ) {
    super(EVERY_MS, new Logger('admission'), {
      failed: 'Asking admission webhooks failed; it will be retried',
    });
  }

  protected async poll(): Promise<void> {
    for (const config of this.webhooks.all) await this.fill(config);
    await this.write();
  }

  /** Sends a webhook as many questions as it may receive at a time. */
  private async fill(config: AdmissionWebhookConfig): Promise<void> {
    const { name } = config;
    const free = MAX_CONCURRENT - (this.inFlight.get(name) ?? 0);
    if (free === 0 || this.hasEnded) return;
    for (const question of await takeQuestions(this.dataSource.manager, name, free, LEASE_MS)) {
      this.inFlight.set(name, (this.inFlight.get(name) ?? 0) + 1);
      void this.ask(config, question);
    }
  }

  // Never rejects. A question that fails here is taken again when its lease expires.
  private async ask(config: AdmissionWebhookConfig, question: WebhookQuestion): Promise<void> {
    const { name } = config;
    const until = performance.now() + LEASE_MS;
    try {
      const { manager } = this.dataSource;
      const asked = await askedVersion(manager, question.itemId);
      if (asked) {
        const answer = await this.webhooks.ask(config, asked);
        this.answers.push({ question, config, answer, until });
      } else await endQuestions(manager, name, [question.itemId]);
    } catch (error) {
      this.logger.debug(
        { err: error, webhook: name },
        'An admission webhook could not be asked about a version',
      );
    } finally {
      this.inFlight.set(name, (this.inFlight.get(name) ?? 1) - 1);
      this.pollNow();
    }
  }

  private async write(): Promise<void> {
    // A request aborted by a shutdown is not a failure.
    if (this.answers.length === 0 || this.hasEnded) return;
    const waiting = new Set<number>();
    for (;;) {
      const now = performance.now();
      this.answers = this.answers.filter(({ until }) => until > now);
      const next = this.answers.find(({ question }) => !waiting.has(question.sourceId));
      if (!next) break;
      const { sourceId } = next.question;
      const batch = this.answers
        .filter(({ question }) => question.sourceId === sourceId)
        .slice(0, MAX_ANSWERS);
      const isWritten = await this.dataSource.transaction((manager) => this.apply(manager, sourceId, batch));
      if (isWritten) this.answers = this.answers.filter((one) => !batch.includes(one));
      else waiting.add(sourceId);
    }
    this.due.pollNow();
  }

  /** @returns false while a sync is writing the source. */
  private async apply(
    manager: EntityManager,
    sourceId: number,
    answered: readonly Answered[],
  ): Promise<boolean> {
    await waitForLocks(manager);
    const source = await lockSource(manager, sourceId).setOnLocked('skip_locked').getOne();
    if (!source) return false;
    const now = await transactionTime(manager);
    const ids = [...new Set(answered.map(({ question }) => question.itemId))];
    const items = new Map((await lockAnswered(manager, sourceId, ids)).map((item) => [item.id, item]));
    const rejected = new Set<AnsweredItem>();
    const changed = new Map<AnsweredItem, HoldReason[]>();
    for (const { question, config, answer } of answered) {
      const item = items.get(question.itemId);
      if (item?.open.includes(config.name) !== true) continue;
      const outcome = answerOutcome(config, answer);
      const others = (changed.get(item) ?? item.reasons).filter(({ webhook }) => webhook !== config.name);
      changed.set(item, outcome === 'admit' ? others : [...others, ...reasonsOf(config, answer)]);
      if (outcome === 'reject') rejected.add(item);
      if (outcome === 'hold' && answer.outcome === 'failure')
        await postponeQuestion(manager, config.name, item.id, webhookRetryInMs(question.attempts + 1));
      else await endQuestions(manager, config.name, [item.id]);
    }
    await setReasons(
      manager,
      [...changed].map(([{ id }, reasons]) => ({
        id,
        reasons: reasons.length === 0 ? [admittedAt(now)] : reasons,
      })),
    );
    for (const { id } of rejected) await endItem(manager, id, 'rejected', now);
    if (rejected.size > 0) await this.states.recount(manager, await countHeld(manager, [sourceId]));
    await this.audit.writeItems(
      manager,
      ADMISSION_ACTOR,
      [...rejected].map((item) =>
        itemEvent('admission.reject', item, source, item.claims ?? source.claims, changed.get(item) ?? []),
      ),
    );
    return true;
  }
}

/** The reason given to an item that nothing holds anymore: DueItems applies the current settings and admits it. */
function admittedAt(now: Date): HoldReason {
  return { policy: 'webhook', message: 'The webhooks admitted this version', dueAt: now.toISOString() };
}
