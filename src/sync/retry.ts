const FIRST_MS = 5_000;
/** An upstream that asks to be left alone for longer is asked again all the same: it may be wrong, or lie. */
const LONGEST_ASKED_MS = 60 * 60 * 1_000;

/**
 * In how many milliseconds a source is tried again.
 *
 * @param attempts runs in a row that have failed, at least one: the pause doubles with each, and ends at the interval.
 * @param askedMs how long the upstream asks to be left alone; that counts beyond the interval too, up to an hour.
 */
export function retryInMs(attempts: number, intervalMs: number, askedMs: number | null): number {
  const backOff = Math.min(intervalMs, FIRST_MS * 2 ** Math.min(attempts - 1, 20));
  return Math.max(backOff, Math.min(askedMs ?? 0, LONGEST_ASKED_MS));
}
