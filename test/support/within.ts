const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 100;

/** Retries until the assertion holds and returns the elapsed time; throws its last failure at the timeout. */
export async function within(ms: number, assertion: () => Promise<void> | void): Promise<number> {
  const began = performance.now();
  // Backs off, since each attempt also loads the service.
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 1.25, LONGEST_PAUSE_MS)) {
    const tried = performance.now();
    try {
      await assertion();
      return Math.round(tried - began);
    } catch (error) {
      if (performance.now() - began > ms) throw error;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}
