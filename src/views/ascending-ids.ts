// Lists of ids in ascending order, each at most once. Thousands of them are gone through for a request after a change, and to
// look each up in a map would take several times as long.

/**
 * @returns a function that tells at which index of the list an id stands; undefined for one that is not in it. It is to be asked for
 * ids in ascending order, since it goes through the list once.
 */
export function indexIn(ids: readonly number[]): (id: number) => number | undefined {
  let index = 0;
  return (id) => {
    while ((ids[index] ?? Infinity) < id) index += 1;
    return ids[index] === id ? index : undefined;
  };
}

/** The ids that are in either list. */
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
