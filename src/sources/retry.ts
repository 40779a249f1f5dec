import { backOffMs } from '../limits/back-off.js';

// Decides when a source is tried again after a failure.

const FIRST_RETRY_MS = 5_000;
/** Upper limit for Retry-After, because the upstream may be wrong or malicious. */
const MAX_RETRY_AFTER_MS = 60 * 60 * 1_000;

/**
 * Returns the delay before the next attempt, in milliseconds.
 *
 * @param attempts consecutive failures, at least one; each doubles the delay, up to the interval.
 * @param retryAfterMs the delay requested by the upstream (RFC 9110 §10.2.3); it may exceed the interval, up to one
 * hour.
 */
export function retryInMs(attempts: number, intervalMs: number, retryAfterMs: number | null): number {
  const backOff = backOffMs(attempts, { firstMs: FIRST_RETRY_MS, longestMs: intervalMs });
  return Math.max(backOff, Math.min(retryAfterMs ?? 0, MAX_RETRY_AFTER_MS));
}

const FIRST_DELAY_MS = 100;
/** The first failures have a shorter maximum delay. They span about a minute, so an API server can restart. */
const EARLY_FAILURES = 20;
const MAX_EARLY_DELAY_MS = 5_000;
const MAX_DELAY_MS = 30_000;

/** Returns the delay, in milliseconds, after this many consecutive failures of a watch (at least one). */
export function watchRetryInMs(failures: number, random?: number): number {
  const longestMs = failures > EARLY_FAILURES ? MAX_DELAY_MS : MAX_EARLY_DELAY_MS;
  return backOffMs(failures, { firstMs: FIRST_DELAY_MS, longestMs, jitter: 0.5 }, random);
}

/**
 * SQL: the time of the next run. It is now if a sync was requested during this run; otherwise it is `ms` from
 * now plus up to 10 %, so that sources created together drift apart.
 */
export function nextRunAt(ms: number): string {
  return `case when requested_at >= last_attempt_at then now()
    else now() + ${Number(ms)} * (1 + random() * 0.1) * interval '1 millisecond' end`;
}
