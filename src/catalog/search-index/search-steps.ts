import { TimeSlice } from '../../json/time-slice.js';

/** Entries per step: some tenths of a millisecond at most. */
export const ENTRIES_PER_STEP = 4_096;

/** Runs a step for each part of a range, from 0 to `length`, until one returns false. */
export type InSteps = (
  length: number,
  step: (from: number, to: number) => unknown,
  size: number,
) => Promise<void>;

/** Yields between steps. @param goOn throws when the computation must end. */
export function stepping(goOn: () => void): InSteps {
  const slice = new TimeSlice();
  return async (length, step, size) => {
    for (let from = 0; from < length; from += size) {
      const goesOn = step(from, Math.min(from + size, length));
      await slice.pause();
      goOn();
      if (goesOn === false) return;
    }
  };
}
