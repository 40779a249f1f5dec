import { expect } from 'vitest';
import { Polling } from '../../dist/database/polling.js';

/** Longer pauses, such as those of cleanups, are not shortened. */
const LONGEST_PAUSE_MS = 5_000;
/** Every poll runs statements, so tests do not poll more often than this. */
const SHORTEST_PAUSE_MS = 100n;

/** The loops in which the services of this process poll the database. */
const begun = new Set<Polling>();
// Tests move all other clocks.
const now = () => process.hrtime.bigint() / 1_000_000n;
let polledAt = 0n;

const { begin, end } = Polling.prototype;
Polling.prototype.begin = function (this: Polling) {
  if (this.everyMs <= LONGEST_PAUSE_MS) begun.add(this);
  begin.call(this);
};
Polling.prototype.end = function (this: Polling) {
  begun.delete(this);
  return end.call(this);
};

/** Skips the pauses between polls once. */
export function pollNow(): void {
  polledAt = now();
  for (const polling of begun) polling.pollNow();
}

/** Shortens the pauses between polls while a test that waits for the effect of a poll calls it repeatedly. */
export function pollSoon(): void {
  if (now() - polledAt >= SHORTEST_PAUSE_MS) pollNow();
}

const { poll } = expect;
expect.poll = (actual, options) =>
  poll(() => {
    pollSoon();
    return actual();
  }, options);
