/**
 * Circuit breaker (M. Nygard, Release It!). It opens when `threshold` different keys have failed since the last success, and
 * refuses calls during a pause. Then it is half-open: one call probes, and its outcome closes or reopens the circuit.
 */
export class CircuitBreaker {
  private readonly failedKeys = new Set<string>();
  private open: { readonly error: Error; readonly until: number; probing: boolean } | undefined;

  /**
   * @param threshold different keys that must fail, so that one broken key cannot open the circuit.
   * @param now milliseconds of a monotonic clock.
   */
  constructor(
    private readonly threshold: number,
    private readonly pauseMs: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** The failure that opened the circuit, while calls are refused. */
  openError(): Error | undefined {
    return this.open && (this.open.probing || this.now() < this.open.until) ? this.open.error : undefined;
  }

  /** Records the start of a call; `succeeded` or `failed` must follow. */
  started(): void {
    if (this.open) this.open.probing = true;
  }

  succeeded(): void {
    this.failedKeys.clear();
    this.open = undefined;
  }

  failed(key: string, error: Error): void {
    this.failedKeys.add(key);
    if (this.failedKeys.size >= this.threshold)
      this.open = { error, until: this.now() + this.pauseMs, probing: false };
  }
}
