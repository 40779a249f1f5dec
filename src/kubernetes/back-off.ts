const FIRST_MS = 100;
/** For about a minute: whatever restarts is back by then, and its changes are waiting. */
const EARLY_FAILURES = 20;
const EARLY_MAX_MS = 5_000;
const MAX_MS = 30_000;

/** Exponential, with jitter: between half and all of the time, so that replicas and watches spread out. */
export function backOffMs(failures: number, random = Math.random()): number {
  const longest = failures < EARLY_FAILURES ? EARLY_MAX_MS : MAX_MS;
  const maxMs = Math.min(longest, FIRST_MS * 2 ** Math.min(failures, EARLY_FAILURES));
  return maxMs / 2 + (random * maxMs) / 2;
}

/** Resolves after the time or as soon as the signal aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end, { once: true });
  });
}
