/**
 * Returns the promise of this key, made on first use. A rejected one is not remembered: the next call makes another, because a
 * failure may be transient, such as too many open files.
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
