const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 100;

/** Tries again until the assertion holds; its last failure is thrown once the time is up. Answers how long it took. */
export async function within(ms: number, assertion: () => Promise<void> | void): Promise<number> {
  const began = performance.now();
  // What takes long is looked for less often: each look costs the service something too.
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
