import { openSync, readSync } from 'node:fs';

const LOOK_MS = 2;

/** The longest time the event loop was blocked since the last query. */
export interface BlockedLoop {
  longestMs(): number;
}

/**
 * Watches this thread's event loop. On Linux it counts only CPU time between two samples: on a busy machine
 * wall time is mostly waiting for a processor.
 */
export function watchLoop(): BlockedLoop {
  const workedMs = timeOfThread();
  let longest = 0;
  let looked = workedMs();
  const look = () => {
    const now = workedMs();
    longest = Math.max(longest, now - looked);
    looked = now;
  };
  setInterval(look, LOOK_MS).unref();
  return {
    longestMs: () => {
      look();
      const found = longest;
      longest = 0;
      return found;
    },
  };
}

function timeOfThread(): () => number {
  try {
    const file = openSync('/proc/thread-self/schedstat', 'r');
    const text = Buffer.alloc(128);
    // The first number is the nanoseconds spent running.
    const look = () =>
      Number(text.toString('latin1', 0, readSync(file, text, 0, 128, 0)).split(' ')[0]) / 1e6;
    return look() > 0 ? look : () => performance.now();
  } catch {
    return () => performance.now();
  }
}
