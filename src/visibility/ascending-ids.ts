// Id lists are in ascending order, without duplicates. The first request after a change walks thousands of ids; map
// lookups would be several times slower.

/**
 * Returns a function that maps an id to its index, or to undefined if absent. Call it with ascending ids: it walks the
 * list once.
 */
export function ascendingIndex(ids: readonly number[]): (id: number) => number | undefined {
  let index = 0;
  return (id) => {
    while ((ids[index] ?? Infinity) < id) index += 1;
    return ids[index] === id ? index : undefined;
  };
}

/** Merges two lists; the result contains each id once. */
export function unionOf(one: readonly number[], other: readonly number[]): number[] {
  const union: number[] = [];
  let [at, otherAt] = [0, 0];
  while (at < one.length || otherAt < other.length) {
    const [id, otherId] = [one[at] ?? Infinity, other[otherAt] ?? Infinity];
    union.push(Math.min(id, otherId));
    if (id <= otherId) at += 1;
    if (otherId <= id) otherAt += 1;
  }
  return union;
}
