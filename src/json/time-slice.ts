import { setImmediate as nextTurn } from 'node:timers/promises';

const SLICE_MS = 10;

/** Shares the event loop: work calls `pause()` often, and it gives way whenever a slice of 10 ms has been used up. */
export class TimeSlice {
  private began = performance.now();

  async pause(): Promise<void> {
    if (!this.isOver()) return;
    await nextTurn();
    this.began = performance.now();
  }

  isOver(): boolean {
    return performance.now() - this.began > SLICE_MS;
  }
}
