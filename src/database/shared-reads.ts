/** A read that takes longer, on a connection that hangs perhaps, is not shared with callers who come later. */
export const SHARE_TIMEOUT_MS = 2_000;

/** Reads in progress: callers who ask for the same at the same time share one. */
export class SharedReads<Key, Value> {
  private readonly pending = new Map<Key, Promise<Value>>();

  /** The value of `read`, or that of a read of this key which is still in progress. */
  share(key: Key, read: () => Promise<Value>): Promise<Value> {
    const known = this.pending.get(key);
    if (known) return known;
    const reading = read();
    this.pending.set(key, reading);
    const unshare = () => {
      clearTimeout(timeout);
      if (this.pending.get(key) === reading) this.pending.delete(key);
    };
    const timeout = setTimeout(unshare, SHARE_TIMEOUT_MS);
    reading.then(unshare, unshare);
    return reading;
  }
}
