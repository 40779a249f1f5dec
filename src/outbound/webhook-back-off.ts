const FIRST_BACK_OFF_MS = 5_000;
const LONGEST_BACK_OFF_MS = 5 * 60_000;
/** Replicas and webhooks must not retry together. */
const JITTER = 0.2;

/** Returns the time until the next attempt after so many failures: 5 s, then doubling to 5 min (contract §12). */
export function backOffMs(failures: number, random = Math.random()): number {
  const longest = Math.min(FIRST_BACK_OFF_MS * 2 ** Math.min(failures - 1, 16), LONGEST_BACK_OFF_MS);
  return longest * (1 - JITTER * random);
}
