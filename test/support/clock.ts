import { afterAll, beforeAll, vi } from 'vitest';

/** Moves the clocks of an in-process service. Timers and the database are unaffected. */
export class Clock {
  private shift = 0;

  /** @param monotonic false: only the date moves; the monotonic clock, which sliced work depends on, does not. */
  runs({ monotonic: isMonotonicMoved = true } = {}): this {
    const date = Date.now.bind(Date);
    const monotonic = performance.now.bind(performance);
    beforeAll(() => {
      vi.spyOn(Date, 'now').mockImplementation(() => date() + this.shift);
      if (isMonotonicMoved) vi.spyOn(performance, 'now').mockImplementation(() => monotonic() + this.shift);
    });
    afterAll(() => void vi.restoreAllMocks());
    return this;
  }

  /** Advances the clock. It cannot be turned back: cached values would be in the future. */
  passes(ms: number): void {
    this.shift += ms;
  }
}
