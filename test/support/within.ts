import { pollSoon } from './polling.js';

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 100;
/** How many times slower than usual a busy machine may be. */
const SLACK = 6;

/** Retries until the assertion holds. Throws its last failure after a multiple of `ms`, the usual maximum time. */
export async function within(ms: number, assertion: () => Promise<void> | void): Promise<void> {
  const began = performance.now();
  // Backs off, since each attempt also loads the service.
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 1.25, LONGEST_PAUSE_MS)) {
    try {
      await assertion();
      return;
    } catch (error) {
      if (performance.now() - began > SLACK * ms) throw error;
      pollSoon();
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}
