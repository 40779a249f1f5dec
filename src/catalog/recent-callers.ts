/** How long somebody counts as asking after their last request. */
const RECENT_MS = 1_000;

/** Whether one caller alone has asked lately, or several. */
export class RecentCallers {
  private latest: string | undefined;
  private changedAt = -Infinity;

  /** @param who asks now: see `Client.keyOf`. */
  add(who: string): void {
    if (who === this.latest) return;
    if (this.latest !== undefined) this.changedAt = performance.now();
    this.latest = who;
  }

  areSeveral(): boolean {
    return performance.now() - this.changedAt < RECENT_MS;
  }
}
