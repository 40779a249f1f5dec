/** A reading that takes longer, on a connection that hangs perhaps, is not shared with those who come now. */
export const PATIENCE_MS = 2_000;

/** Readings under way: who asks for the same at the same time shares them. */
export class SharedReads<Key, Value> {
  private readonly underWay = new Map<Key, Promise<Value>>();

  /** What `read` gives, or gave to somebody who asked for this key and still waits for it. */
  once(key: Key, read: () => Promise<Value>): Promise<Value> {
    const known = this.underWay.get(key);
    if (known) return known;
    const reading = read();
    this.underWay.set(key, reading);
    const unshare = () => {
      clearTimeout(patience);
      if (this.underWay.get(key) === reading) this.underWay.delete(key);
    };
    const patience = setTimeout(unshare, PATIENCE_MS);
    reading.then(unshare, unshare);
    return reading;
  }
}
