/**
 * A circuit breaker (M. Nygard, Release It!). Closed, it lets everything through. It opens when so many different ones
 * have failed since the last success, and then refuses everything for a while. After that it is half-open: one is let
 * through as a probe, whose end closes the circuit or opens it again.
 */
export class CircuitBreaker {
  private readonly failing = new Set<string>();
  private open: { readonly error: Error; readonly until: number; probing: boolean } | undefined;

  /**
   * @param threshold different ones that must fail: one that always does can't open it.
   * @param now milliseconds on a clock that does not jump.
   */
  constructor(
    private readonly threshold: number,
    private readonly pauseMs: number,
    private readonly now: () => number,
  ) {}

  /** The last failure, as long as nothing may be tried. */
  refusal(): Error | undefined {
    return this.open && (this.open.probing || this.now() < this.open.until) ? this.open.error : undefined;
  }

  /** Something that was not refused is tried; `succeeded` or `failed` must follow. */
  begins(): void {
    if (this.open) this.open.probing = true;
  }

  succeeded(): void {
    this.failing.clear();
    this.open = undefined;
  }

  /** @param name of what failed. */
  failed(name: string, error: Error): void {
    this.failing.add(name);
    if (this.failing.size >= this.threshold)
      this.open = { error, until: this.now() + this.pauseMs, probing: false };
  }
}
