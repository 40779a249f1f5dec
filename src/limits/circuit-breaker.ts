/**
 * Circuit breaker (M. Nygard, Release It!). It opens once `threshold` different keys have failed since the last
 * success, and refuses calls for `pauseMs`. Then it is half-open: one probe call goes through, and its outcome closes
 * or reopens the circuit.
 */
export class CircuitBreaker {
  private readonly failedKeys = new Set<string>();
  private open: { readonly error: Error; readonly until: number; probing: boolean } | undefined;

  /**
   * @param threshold number of different keys that must fail, so that one broken key cannot open the circuit.
   * @param now monotonic clock, in milliseconds.
   */
  constructor(
    private readonly threshold: number,
    private readonly pauseMs: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Returns the error that opened the circuit; undefined while calls are allowed. */
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
