import { expect } from 'vitest';
import { Polling } from '../../dist/database/polling.js';

/** Cleanups, which pause for longer, keep their pauses. */
const LONGEST_PAUSE_MS = 5_000;

/** What the services of this process poll the database for. */
const begun = new Set<Polling>();

const { begin, end } = Polling.prototype;
Polling.prototype.begin = function (this: Polling) {
  if (this.everyMs <= LONGEST_PAUSE_MS) begun.add(this);
  begin.call(this);
};
Polling.prototype.end = function (this: Polling) {
  begun.delete(this);
  return end.call(this);
};

/** Skips the pauses between polls once: a test that waits for a poll need not wait for its turn. */
export function pollNow(): void {
  for (const polling of begun) polling.pollNow();
}

const { poll } = expect;
expect.poll = (actual, options) =>
  poll(() => {
    pollNow();
    return actual();
  }, options);
