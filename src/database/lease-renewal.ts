export interface Lease {
  /** Aborts when a renewal finds that the owner no longer holds the lease. */
  readonly taken: AbortSignal;
  /** Aborts when the lease was not renewed in time. A later renewal may still succeed if no other owner took it. */
  readonly expired: AbortSignal;
}

interface HeldLease {
  readonly taken: AbortController;
  readonly expired: AbortController;
  expiry: NodeJS.Timeout | undefined;
}

/**
 * Renews all leases of one owner in one statement, until `end` is called. The signals of a lease only stop futile work
 * early: the writing transaction must still check the lease.
 */
export class LeaseRenewal {
  private readonly held = new Map<number, HeldLease>();
  /** Undefined during a renewal and when no lease is held. */
  private timer: NodeJS.Timeout | undefined;
  private isRenewing = false;

  /**
   * @param renew extends all leases of the owner to `ms` milliseconds from the time PostgreSQL executes the statement;
   *   resolves to the ids that the owner still holds.
   * @param ms duration of a lease.
   */
  constructor(
    private readonly renew: (ms: number) => Promise<readonly number[]>,
    private readonly ms: number,
    private readonly everyMs: number,
  ) {}

  /** Starts renewing a lease that was just acquired; replaces an earlier lease with the same id. */
  hold(id: number): Lease {
    this.drop(id);
    const lease: HeldLease = {
      taken: new AbortController(),
      expired: new AbortController(),
      expiry: undefined,
    };
    this.held.set(id, lease);
    this.expireFrom(performance.now(), lease);
    this.schedule();
    return { taken: lease.taken.signal, expired: lease.expired.signal };
  }

  end(): void {
    for (const id of [...this.held.keys()]) this.drop(id);
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private schedule(): void {
    if (this.isRenewing || this.timer !== undefined || this.held.size === 0) return;
    this.timer = setTimeout(() => void this.renewAll(), this.everyMs);
  }

  // A failed renewal is not retried before the next interval; leases expire if no renewal succeeds in time.
  private async renewAll(): Promise<void> {
    this.timer = undefined;
    this.isRenewing = true;
    const startedAt = performance.now();
    // The result says nothing about leases acquired during the renewal.
    const renewed = [...this.held];
    const ids = await this.renew(this.ms).catch(() => null);
    for (const [id, lease] of renewed) {
      if (ids === null || this.held.get(id) !== lease) continue;
      if (ids.includes(id)) this.expireFrom(startedAt, lease);
      else {
        this.drop(id);
        lease.taken.abort();
      }
    }
    this.isRenewing = false;
    this.schedule();
  }

  private expireFrom(renewedAt: number, lease: HeldLease): void {
    clearTimeout(lease.expiry);
    lease.expiry = setTimeout(() => lease.expired.abort(), renewedAt + this.ms - performance.now());
  }

  private drop(id: number): void {
    clearTimeout(this.held.get(id)?.expiry);
    this.held.delete(id);
  }
}
