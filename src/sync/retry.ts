const FIRST_MS = 5_000;
/** An upstream that asks for a longer pause is tried all the same: it may be wrong, or lie. */
const MAX_RETRY_AFTER_MS = 60 * 60 * 1_000;

/**
 * In how many milliseconds a source is tried again.
 *
 * @param attempts runs in a row that have failed, at least one: the pause doubles with each, and ends at the interval.
 * @param retryAfterMs the pause that the upstream asks for (RFC 9110 §10.2.3): it may exceed the interval, up to an hour.
 */
export function retryInMs(attempts: number, intervalMs: number, retryAfterMs: number | null): number {
  const backOff = Math.min(intervalMs, FIRST_MS * 2 ** Math.min(attempts - 1, 20));
  return Math.max(backOff, Math.min(retryAfterMs ?? 0, MAX_RETRY_AFTER_MS));
}
