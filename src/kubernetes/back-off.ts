const FIRST_MS = 100;
const MAX_MS = 30_000;

/** Exponential, with jitter: between half and all of the time, so that replicas and watches spread out. */
export function backOffMs(failures: number, random = Math.random()): number {
  const maxMs = Math.min(MAX_MS, FIRST_MS * 2 ** Math.min(failures, 20));
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
