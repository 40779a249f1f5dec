/** One of the leases that are renewed. */
export interface Lease {
  /** Aborts when a renewal finds that its owner no longer holds it: somebody else does, or it was freed. */
  readonly taken: AbortSignal;
  /** Aborts when it could not be renewed before it ran out. A later renewal may find that nobody else has taken it. */
  readonly expired: AbortSignal;
}

interface HeldLease {
  readonly taken: AbortController;
  readonly expired: AbortController;
  expiry: NodeJS.Timeout | undefined;
}

/**
 * Renews the leases of one owner, all in one statement, until `end`. It ends early what would be in vain; that nothing is
 * written without the lease is for the transaction that writes to check.
 */
export class LeaseRenewal {
  private readonly held = new Map<number, HeldLease>();
  /** Undefined while a renewal is under way, and while there is nothing to renew. */
  private timer: NodeJS.Timeout | undefined;
  private isRenewing = false;

  /**
   * @param renew renews all leases of the owner for so many milliseconds from when PostgreSQL executes it; resolves to the
   *   ids of those that the owner still holds.
   * @param ms how long a lease is held without renewal.
   */
  constructor(
    private readonly renew: (ms: number) => Promise<readonly number[]>,
    private readonly ms: number,
    private readonly everyMs: number,
  ) {}

  /** Keeps a lease that was taken just now, in place of an earlier one of the same id. */
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

  // A renewal that fails, or hangs, may be made up for by the next one; if none succeeds in time, the leases expire.
  private async renewAll(): Promise<void> {
    this.timer = undefined;
    this.isRenewing = true;
    const startedAt = performance.now();
    // A lease that is taken while the renewal is under way is none of those it answers for.
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
