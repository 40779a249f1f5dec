/** A read that takes longer, on a connection that hangs perhaps, is not shared with callers who come later. */
export const SHARE_TIMEOUT_MS = 2_000;

interface PendingRead<Value> {
  readonly value: Promise<Value>;
  /** Ends the read when nobody waits for it any more. */
  readonly abandon: AbortController | undefined;
  waiting: number;
}

/** Of reads that are begun by somebody who does not leave. */
const NEVER = new AbortController().signal;

/** Reads in progress: callers who ask for the same at the same time share one. */
export class SharedReads<Key, Value> {
  private readonly pending = new Map<Key, PendingRead<Value>>();

  /**
   * The value of `read`, or that of a read of this key which is still in progress.
   *
   * @param read is told when all who shared it have gone.
   * @param gone aborts when this caller does not wait any longer. Without it the read is never abandoned.
   * @throws the reason of `gone` while others still wait; the last to go waits for the read to end.
   */
  share(key: Key, read: (abandoned: AbortSignal) => Promise<Value>, gone?: AbortSignal): Promise<Value> {
    const shared = this.pending.get(key) ?? this.begin(key, read, gone);
    shared.waiting += 1;
    if (!gone) return shared.value;
    return new Promise((resolve, reject) => {
      const leave = () => {
        shared.waiting -= 1;
        if (shared.waiting > 0) return reject(gone.reason as Error);
        // Who asks from now on begins anew.
        this.unshare(key, shared);
        shared.abandon?.abort(gone.reason);
      };
      const stay = () => gone.removeEventListener('abort', leave);
      shared.value.finally(stay).then(resolve, reject);
      if (gone.aborted) leave();
      else gone.addEventListener('abort', leave, { once: true });
    });
  }

  /** Whether a read of this key is in progress, which `share` would join. */
  has(key: Key): boolean {
    return this.pending.has(key);
  }

  // Who does not leave keeps the read from being abandoned by others, so nothing is made for that.
  private begin(
    key: Key,
    read: (abandoned: AbortSignal) => Promise<Value>,
    gone: AbortSignal | undefined,
  ): PendingRead<Value> {
    const abandon = gone && new AbortController();
    const shared: PendingRead<Value> = { value: read(abandon?.signal ?? NEVER), abandon, waiting: 0 };
    this.pending.set(key, shared);
    const ended = () => {
      clearTimeout(timeout);
      this.unshare(key, shared);
    };
    const timeout = setTimeout(() => this.unshare(key, shared), SHARE_TIMEOUT_MS);
    shared.value.then(ended, ended);
    return shared;
  }

  private unshare(key: Key, shared: PendingRead<Value>): void {
    if (this.pending.get(key) === shared) this.pending.delete(key);
  }
}
