/** Tries again until the assertion holds; its last failure is thrown once the time is up. Answers how long it took. */
export async function within(ms: number, assertion: () => Promise<void> | void): Promise<number> {
  const began = performance.now();
  for (;;) {
    const tried = performance.now();
    try {
      await assertion();
      return Math.round(tried - began);
    } catch (error) {
      if (performance.now() - began > ms) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
