/** The lease of a source while it is read here: renewed until `end`. */
export class Lease {
  private readonly loss = new AbortController();
  private expiry: NodeJS.Timeout | undefined;
  private pause: NodeJS.Timeout | undefined;
  private ended = false;
  private taken = false;

  /**
   * @param renew for so many milliseconds from when it is asked; resolves to false when somebody else, or nobody, has it.
   */
  constructor(
    private readonly renew: (ms: number) => Promise<boolean>,
    private readonly ms: number,
    private readonly everyMs: number,
  ) {
    this.holdFrom(performance.now());
    this.renewLater();
  }

  /** Aborts when the lease is lost: somebody else has it, or it could not be renewed before it ran out. */
  get lost(): AbortSignal {
    return this.loss.signal;
  }

  /** Whether it is known to be lost to somebody else, or to a change of the source. */
  get isTaken(): boolean {
    return this.taken;
  }

  end(): void {
    this.ended = true;
    clearTimeout(this.expiry);
    clearTimeout(this.pause);
  }

  private renewLater(): void {
    this.pause = setTimeout(() => void this.renewNow(), this.everyMs);
  }

  // A renewal that fails, or hangs, may come right with the next one; if none does in time, the lease has run out.
  private async renewNow(): Promise<void> {
    const asked = performance.now();
    const held = await this.renew(this.ms).catch(() => undefined);
    if (this.ended || this.lost.aborted) return;
    if (held === false) {
      this.taken = true;
      this.lose();
    } else {
      if (held) this.holdFrom(asked);
      this.renewLater();
    }
  }

  private holdFrom(asked: number): void {
    clearTimeout(this.expiry);
    this.expiry = setTimeout(() => this.lose(), asked + this.ms - performance.now());
  }

  private lose(): void {
    this.end();
    this.loss.abort();
  }
}
