const FIRST_MS = 100;
const MOST_MS = 30_000;

/** Grows with every failure in a row; between half of it and all of it, so that replicas and watches spread out. */
export function backOffMs(failures: number, random = Math.random()): number {
  const most = Math.min(MOST_MS, FIRST_MS * 2 ** Math.min(failures, 20));
  return most / 2 + (random * most) / 2;
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
