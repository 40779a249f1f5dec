import { afterAll, afterEach, beforeAll, beforeEach, vi } from 'vitest';

/** Moves the clocks of an in-process service. Timers and the database are unaffected. */
export class Clock {
  private shift = 0;
  /** The readings of the clocks while they stand still. */
  private stopped: { readonly date: number; readonly monotonic: number } | undefined;

  /** @param monotonic false: only the date moves; the monotonic clock, which sliced work depends on, does not. */
  runs({ monotonic: isMonotonicMoved = true } = {}): this {
    const date = Date.now.bind(Date);
    const monotonic = performance.now.bind(performance);
    beforeAll(() => {
      vi.spyOn(Date, 'now').mockImplementation(() => (this.stopped?.date ?? date()) + this.shift);
      if (isMonotonicMoved)
        vi.spyOn(performance, 'now').mockImplementation(
          () => (this.stopped?.monotonic ?? monotonic()) + this.shift,
        );
    });
    afterAll(() => void vi.restoreAllMocks());
    return this;
  }

  /**
   * Stops the clocks during each test of the file or group: a slow machine takes no time, only `passes` does. Call after
   * `runs`.
   */
  standsStill(): this {
    beforeEach(() => {
      this.stopped = { date: Date.now() - this.shift, monotonic: Math.ceil(performance.now()) - this.shift };
    });
    afterEach(() => {
      this.stopped = undefined;
    });
    return this;
  }

  /** Advances the clock. It cannot be turned back: cached values would be in the future. */
  passes(ms: number): void {
    // A wait of exactly this long would never end while the clocks stand still.
    this.shift += this.stopped ? ms + 1 : ms;
  }
}
