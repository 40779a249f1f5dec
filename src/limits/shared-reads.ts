/** Callers do not join a read older than this, because its connection may be hanging. */
export const SHARE_TIMEOUT_MS = 2_000;

interface PendingRead<Value> {
  readonly value: Promise<Value>;
  /** Aborts the read when all its callers have left. */
  readonly controller: AbortController;
  callers: number;
}

/** Deduplicates concurrent reads of the same key. */
export class SharedReads<Key, Value> {
  private readonly pending = new Map<Key, PendingRead<Value>>();

  /**
   * Joins the pending read of this key, or starts `read`.
   *
   * @param read receives a signal that aborts when all callers have left.
   * @param signal aborts when this caller leaves. A caller without a signal never leaves.
   * @throws `signal.reason` if other callers remain; the last caller waits until the aborted read settles.
   */
  share(key: Key, read: (signal: AbortSignal) => Promise<Value>, signal?: AbortSignal): Promise<Value> {
    const shared = this.pending.get(key) ?? this.begin(key, read);
    shared.callers += 1;
    if (!signal) return shared.value;
    return new Promise((resolve, reject) => {
      const leave = () => {
        shared.callers -= 1;
        if (shared.callers > 0) return reject(signal.reason as Error);
        this.unshare(key, shared);
        shared.controller.abort(signal.reason);
      };
      const settled = () => signal.removeEventListener('abort', leave);
      shared.value.finally(settled).then(resolve, reject);
      if (signal.aborted) leave();
      else signal.addEventListener('abort', leave, { once: true });
    });
  }

  /** Returns whether `share` would join a pending read. */
  has(key: Key): boolean {
    return this.pending.has(key);
  }

  private begin(key: Key, read: (signal: AbortSignal) => Promise<Value>): PendingRead<Value> {
    const controller = new AbortController();
    const shared: PendingRead<Value> = { value: read(controller.signal), controller, callers: 0 };
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

/**
 * Returns the promise for this key, creating it on first use. A rejected promise is not cached: the next call creates
 * another, because a failure may be transient, such as too many open files.
 */
export function remembered<Key, Value>(
  promises: Map<Key, Promise<Value>>,
  key: Key,
  make: () => Promise<Value>,
): Promise<Value> {
  const known = promises.get(key);
  if (known) return known;
  const made = make();
  promises.set(key, made);
  made.catch(() => promises.delete(key));
  return made;
}
