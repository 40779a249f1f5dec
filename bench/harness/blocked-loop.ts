import { openSync, readSync } from 'node:fs';

const LOOK_MS = 2;

/** How long the event loop was held up at a stretch since it was last asked. */
export interface BlockedLoop {
  longestMs(): number;
}

/**
 * Watches the event loop of this thread. Where the system tells (Linux does), only the time the thread computes between two
 * looks counts: on a machine that is busy with other things, waiting for a processor is nearly all that is to be seen.
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
    // Begins with the nanoseconds spent running.
    const look = () =>
      Number(text.toString('latin1', 0, readSync(file, text, 0, 128, 0)).split(' ')[0]) / 1e6;
    return look() > 0 ? look : () => performance.now();
  } catch {
    return () => performance.now();
  }
}
