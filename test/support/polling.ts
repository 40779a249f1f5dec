import { expect } from 'vitest';
import { Polling } from '../../dist/database/polling.js';

/** Cleanups, which pause for longer, keep their pauses. */
const LONGEST_PAUSE_MS = 5_000;
/** Each poll costs statements. */
const SHORTEST_PAUSE_MS = 100n;

/** What the services of this process poll the database for. */
const begun = new Set<Polling>();
// Tests move the other clocks.
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

/** Shortens the pauses between polls, called repeatedly by a test that waits for what a poll leads to. */
export function pollSoon(): void {
  if (now() - polledAt >= SHORTEST_PAUSE_MS) pollNow();
}

const { poll } = expect;
expect.poll = (actual, options) =>
  poll(() => {
    pollSoon();
    return actual();
  }, options);
