import { FairLimit } from '../limits/quota.js';

/** Refusals of those who are not known, in so long: whoever can reach the port must not be able to fill the disk, about 1 GiB a day. */
const MAX_UNKNOWN = 1_000;
/** The same of each who is known: with a provider that gives tokens to everybody, that may be anybody. */
const MAX_OF_CALLER = 1_000;
const REFUSALS_WINDOW_MS = 60_000;

/** How many refusals are recorded; what is beyond it leaves no event, and is counted as dropped. */
export class RefusalLimit {
  private unknown = new FairLimit(MAX_UNKNOWN);
  private readonly known = new Map<string, number>();
  private windowBegan = performance.now();

  /** @param isKnown whether somebody is known to have been refused; @param client who counts as one. */
  take(isKnown: boolean, client: string): boolean {
    if (performance.now() - this.windowBegan > REFUSALS_WINDOW_MS) {
      this.unknown = new FairLimit(MAX_UNKNOWN);
      this.known.clear();
      this.windowBegan = performance.now();
    }
    if (!isKnown) return this.unknown.take(client);
    const before = this.known.get(client) ?? 0;
    this.known.set(client, before + 1);
    return before < MAX_OF_CALLER;
  }
}
