const SLICE_MS = 10;
/** Of steps that take microseconds each; to look at the clock takes a part of one. */
const STEPS_A_LOOK = 64;

/** Work that waits for its next slice. */
const waiting: (() => void)[] = [];
/** When the slice began that somebody has now, or had last. */
let began = -Infinity;

/**
 * Shares the event loop: work calls `pause()` often, and it gives way whenever a slice of 10 ms has been used up. There is one slice
 * at a time, whoever has it, and others come between two: a hundred callers who cause such work hold nobody up longer than one.
 */
export class TimeSlice {
  async pause(): Promise<void> {
    if (!this.isOver()) return;
    await new Promise<void>((resolve) => {
      if (waiting.push(resolve) === 1) setImmediate(beginSlice);
    });
  }

  private isOver(): boolean {
    return performance.now() - began > SLICE_MS;
  }

  /** Before each of many short steps, the first of which has number 0: is it time to give way? */
  isOverAt(step: number): boolean {
    return step % STEPS_A_LOOK === 0 && this.isOver();
  }
}

function beginSlice(): void {
  began = performance.now();
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(beginSlice);
}
