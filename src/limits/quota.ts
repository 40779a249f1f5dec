/** Size of the reserve for light users, as a fraction of the total. */
export const RESERVE = 1 / 4;
/** A key is a light user while it holds less than this fraction of the total. */
const LIGHT_USE = 1 / 20;

export interface QuotaLimits {
  /** Maximum number of units that all keys may hold together, excluding the reserve. */
  readonly total?: number;
  readonly perKey?: number;
  /**
   * Lets light users exceed `total` by a quarter, so that one heavy user cannot lock out the others. One key may still
   * use the whole `total`, because all clients behind a proxy share one address.
   */
  readonly reserve?: boolean;
}

/** Limits the units held concurrently, per key and in total. Refuses instead of queueing; use Semaphore to wait. */
export class Quota {
  /** Maximum number of units, including the reserve. */
  readonly max: number;
  private readonly total: number;
  private readonly perKey: number;
  private readonly lightUse: number;
  private readonly heldBy = new Map<string, number>();
  private heldByAll = 0;

  constructor({ total = Infinity, perKey = Infinity, reserve = false }: QuotaLimits) {
    this.total = total;
    this.perKey = perKey;
    this.lightUse = reserve ? Math.ceil(total * LIGHT_USE) : 0;
    this.max = reserve ? total + Math.ceil(total * RESERVE) : total;
  }

  held(key: string): number {
    return this.heldBy.get(key) ?? 0;
  }

  /** Whether the key has reached its own limit. */
  isUsedUpBy(key: string): boolean {
    return this.held(key) >= this.perKey;
  }

  /** Acquires `amount` units, which must be released later. Returns false if that would exceed a limit. */
  tryAcquire(key: string, amount = 1): boolean {
    const held = this.held(key);
    const limit = held < this.lightUse ? this.max : this.total;
    if (this.heldByAll + amount > limit || held + amount > this.perKey) return false;
    this.heldByAll += amount;
    this.heldBy.set(key, held + amount);
    return true;
  }

  release(key: string, amount = 1): void {
    const held = this.held(key);
    this.heldByAll -= amount;
    if (held > amount) this.heldBy.set(key, held - amount);
    else this.heldBy.delete(key);
  }
}

/** Limits the number of units per fixed time window; each window starts with an unused quota. */
export class RateLimit {
  private quota: Quota;
  private windowStart = performance.now();

  constructor(
    private readonly limits: QuotaLimits,
    private readonly windowMs: number,
  ) {
    this.quota = new Quota(limits);
  }

  tryAcquire(key: string): boolean {
    const now = performance.now();
    if (now - this.windowStart > this.windowMs) {
      this.quota = new Quota(this.limits);
      this.windowStart = now;
    }
    return this.quota.tryAcquire(key);
  }

  /** Returns a unit that was not used, unless its window has ended. */
  release(key: string): void {
    if (this.quota.held(key) > 0) this.quota.release(key);
  }

  /** Whole seconds until the next window. */
  get retryAfterSeconds(): number {
    return Math.floor((this.windowStart + this.windowMs - performance.now()) / 1_000) + 1;
  }
}
