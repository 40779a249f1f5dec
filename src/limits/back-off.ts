interface BackOff {
  /** Delay after the first failure; each further one doubles it. */
  readonly firstMs: number;
  readonly longestMs: number;
  /** Share of the delay that is random, so that replicas do not retry together. */
  readonly jitter?: number;
}

/** Returns the delay before the next attempt, in milliseconds, after this many consecutive failures (at least one). */
export function backOffMs(
  failures: number,
  { firstMs, longestMs, jitter = 0 }: BackOff,
  random = Math.random(),
): number {
  return Math.min(longestMs, firstMs * 2 ** (failures - 1)) * (1 - jitter * random);
}
