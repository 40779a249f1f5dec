/**
 * Returns the smallest items whose sizes together are within a limit, in the order given, so that a publisher's large
 * items do not displace small ones.
 *
 * @param items distinct objects.
 */
export function smallestWithin<Item extends object>(
  items: readonly Item[],
  maxSize: number,
  sizeOf: (item: Item) => number,
): Item[] {
  const sized = items.map((item) => ({ item, size: sizeOf(item) }));
  let left = maxSize;
  const kept = sized.sort((one, other) => one.size - other.size).filter(({ size }) => (left -= size) >= 0);
  const all = new Set(kept.map(({ item }) => item));
  return items.filter((item) => all.has(item));
}
