const SLICE_MS = 2;
/** Steps between two checks of the clock. A step takes microseconds. */
const STEPS_A_LOOK = 64;

/** Callers that wait for their next slice. */
const waiting: (() => void)[] = [];
/** When the current or last slice began. */
let began = -Infinity;

/**
 * Shares the event loop: long computations call this often, and it yields after each slice of 2 ms, so that a request
 * stays fast even if it waits for a slice in each of its steps. All computations share the same slices, with other work
 * in between, so a hundred computations delay other requests no longer than one does.
 */
export async function pauseIfDue(): Promise<void> {
  if (!isOver()) return;
  await new Promise<void>((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(beginSlice);
  });
}

/** Whether to pause before this step, counted from 0: avoids reading the clock in most steps. */
export function isPauseDue(step: number): boolean {
  return step % STEPS_A_LOOK === 0 && isOver();
}

function isOver(): boolean {
  const passed = performance.now() - began;
  // Less than 0 only in tests, which move the clock forward and later back.
  return passed > SLICE_MS || passed < 0;
}

function beginSlice(): void {
  began = performance.now();
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(beginSlice);
}

/** Runs a step for each part of a range, from 0 to `length`, until one returns false. */
export type InSteps = (
  length: number,
  step: (from: number, to: number) => unknown,
  size: number,
) => Promise<void>;

/**
 * Yields between steps.
 *
 * @param goOn throws when the computation must end.
 */
export function stepping(goOn: () => void): InSteps {
  return async (length, step, size) => {
    for (let from = 0; from < length; from += size) {
      const goesOn = step(from, Math.min(from + size, length));
      await pauseIfDue();
      goOn();
      if (goesOn === false) return;
    }
  };
}
