import { afterAll, beforeAll, vi } from 'vitest';

/** Moves the clocks that the service reads, since it runs in this process. Timers and the database stay where they are. */
export class Clock {
  private shift = 0;

  /** @param monotonic false leaves the clock alone by which work is cut into slices: it outlives the file. */
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

  /** From now on it is this much later. There is no way back: what was remembered at that time is there. */
  passes(ms: number): void {
    this.shift += ms;
  }
}
