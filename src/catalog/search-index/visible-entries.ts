import { addBit } from './bit-sets.js';
import { IS_SHOWN } from './entry-columns.js';
import type { EntryIndex } from './entry-index.js';

/**
 * Adds visible entries that no other shadows (contract §6) to a set.
 *
 * @param ranks see `IndexView`.
 * @param positions from and to which position of the order; a name that begins before `from` is skipped, and one that
 *   begins before `to` is completed.
 */
export function addShown(
  { order, isRepeated, columns }: EntryIndex,
  ranks: Uint32Array,
  [from, to]: readonly [number, number],
  shown: Int32Array,
): void {
  const { partitions, flags } = columns;
  let at = from;
  if (from > 0) while (at < to && isRepeated[at] === 1) at += 1;
  while (at < to) {
    let bestNumber = order[at] ?? 0;
    let best = ranks[partitions[bestNumber] ?? 0] ?? 0;
    let next = at + 1;
    for (; next < order.length && isRepeated[next] === 1; next += 1) {
      const number = order[next] ?? 0;
      const rank = ranks[partitions[number] ?? 0] ?? 0;
      if (rank === 0 || (best !== 0 && rank > best)) continue;
      best = rank;
      bestNumber = number;
    }
    if (best !== 0 && ((flags[bestNumber] ?? 0) & IS_SHOWN) !== 0) addBit(shown, bestNumber);
    at = next;
  }
}

/** Whether the entry at a position is visible, and shadowed by no other (contract §6). */
export function isFirst(index: EntryIndex, ranks: Uint32Array, position: number): boolean {
  const { isRepeated } = index;
  const rank = rankAt(index, ranks, position);
  if (rank === 0) return false;
  const shadows = (at: number) => {
    const other = rankAt(index, ranks, at);
    return other !== 0 && other < rank;
  };
  for (let at = position; at > 0 && isRepeated[at] === 1; at -= 1) if (shadows(at - 1)) return false;
  for (let at = position + 1; at < isRepeated.length && isRepeated[at] === 1; at += 1)
    if (shadows(at)) return false;
  return true;
}

function rankAt({ columns, order }: EntryIndex, ranks: Uint32Array, position: number): number {
  return ranks[columns.partitions[order[position] ?? 0] ?? 0] ?? 0;
}
