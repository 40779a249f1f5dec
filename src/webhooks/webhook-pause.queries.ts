import type { EntityManager } from 'typeorm';
import { Webhook } from './webhook.entity.js';

// Decides when a failing webhook is tried again, and when it is paused instead.

export interface RoundFailure {
  readonly error: string;
  /** Time until the next attempt; `retryForMs` may shorten it. */
  readonly backOffMs: number;
  /** The receiver's `Retry-After`. */
  readonly retryAfterMs: number;
  /** The webhook is paused once it has failed for this long. */
  readonly retryForMs: number;
}

const milliseconds = (member: string) => `p."${member}" * interval '1 millisecond'`;
/** SQL: when the webhook began to fail; a success in the same round resets it. */
const STARTED = `case when p."hasDelivered" then now() else coalesce(w.failing_since, now()) end`;
const ENDS = `${STARTED} + ${milliseconds('retryForMs')}`;
const unlessIdle = (column: string, failed: string, succeeded: string) =>
  `${column} = case when p.error is not null then ${failed} when p."hasDelivered" then ${succeeded} else w.${column} end`;

/** SQL: the columns of webhook `w` after a round `p` of deliveries, which succeeded, failed or had nothing to send. */
export const RETRY_OR_PAUSE = `
  ${unlessIdle('attempts', `case when p."hasDelivered" then 1 else w.attempts + 1 end`, '0')},
  ${unlessIdle('failing_since', STARTED, 'null')},
  ${unlessIdle(
    'next_attempt_at',
    `greatest(now() + ${milliseconds('retryAfterMs')}, least(now() + ${milliseconds('backOffMs')}, ${ENDS}))`,
    'null',
  )},
  ${unlessIdle('paused_at', `case when now() >= ${ENDS} then now() end`, 'w.paused_at')},
  ${unlessIdle('last_error', 'p.error', 'null')}`;

/** Ends the pause of a webhook, or the wait for its next attempt. */
export async function resumeWebhook(manager: EntityManager, name: string): Promise<void> {
  await manager.update(
    Webhook,
    { name },
    { pausedAt: null, attempts: 0, failingSince: null, nextAttemptAt: null, lastError: null },
  );
}
