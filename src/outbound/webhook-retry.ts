import { backOffMs } from '../limits/back-off.js';

// Decides when a webhook that failed is tried again.

/** Upper limit for Retry-After. */
export const MAX_WEBHOOK_RETRY_AFTER_MS = 24 * 60 * 60_000;

/** Returns the delay before the next attempt, in milliseconds, after this many consecutive failures (at least one). */
export function webhookRetryInMs(failures: number, random?: number): number {
  return backOffMs(failures, { firstMs: 5_000, longestMs: 5 * 60_000, jitter: 0.2 }, random);
}
