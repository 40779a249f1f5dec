import { ENTRY_TYPE_NAMES, type EntryType } from '../../documents/entry-types.js';
import { TimeSlice } from '../../json/time-slice.js';
import { addBit, elementsFor } from './bit-sets.js';
import { EntryColumns, type IndexedSummary, IS_REMOVED, IS_SHOWN } from './entry-columns.js';
import { bytesOf } from './text-table.js';

/** An entry that was written, moved or removed. */
export interface EntryChange {
  readonly sourceId: number;
  readonly type: EntryType;
  readonly name: string;
  /** Null if there is none any more, or it is being written. */
  readonly summary: IndexedSummary | null;
}

/** Entries per step of a search: some tenths of a millisecond at most. */
export const ENTRIES_PER_STEP = 4_096;

/** Of one entry: its place in both directions, and `isRepeated`. */
const BYTES_OF_ORDER = 2 * 4 + 1;

/** What a view sees in an index, and what was computed from it. */
export interface IndexView {
  /** The rank of each partition's number, 0 for hidden ones; of entries with one name, the lowest rank counts. */
  readonly ranks: Uint32Array;
  /** Computed from this version of the index. */
  computed?: { readonly version: number; readonly shown: Int32Array; facets?: string };
}

/**
 * The latest versions of some sources by name and type, like a list of all sources; see `EntryColumns` for what it has of
 * each. Appended entries are invisible until they are placed in the order.
 */
export class EntryIndex {
  readonly columns = new EntryColumns();
  /** Changes with the order. */
  version = 0;
  /** Numbers of entries. */
  order = new Int32Array(0);
  /** For each number, its position in the order; wrong for entries that are not in the order. */
  positions = new Int32Array(0);
  /** For each place in the order: 1 if the entry before has the same name and type. */
  isRepeated = new Uint8Array(0);

  get byteLength(): number {
    return this.columns.byteLength + BYTES_OF_ORDER * this.columns.count;
  }

  /** The entries in the order. */
  get size(): number {
    return this.order.length;
  }

  /** Elements of a set of entries. */
  get elements(): number {
    return elementsFor(this.columns.count);
  }

  /** Whether a quarter of the entries is no longer in the order. */
  get isSparse(): boolean {
    return this.columns.count - this.order.length > 1_000 + this.order.length / 4;
  }

  /** Adds an entry that is not yet in the order, and returns its number. */
  append(summary: IndexedSummary): number {
    return this.columns.append(summary);
  }

  /** Adds appended entries to the order. @param numbers by name and type, as in the order. */
  async place(numbers: readonly number[]): Promise<void> {
    const slice = new TimeSlice();
    const { columns, order: before, isRepeated: wasRepeated } = this;
    const merged = new Int32Array(before.length + numbers.length);
    const isRepeated = new Uint8Array(merged.length);
    let length = 0;
    let next = 0;
    /** Where the last entry was before; -1 if it is new. */
    let lastAt = -1;
    const add = (number: number, at: number) => {
      const isUnchanged = at > 0 && lastAt === at - 1;
      if (isUnchanged) isRepeated[length] = wasRepeated[at] ?? 0;
      else if (length > 0) isRepeated[length] = columns.sharesName(merged[length - 1] ?? 0, number) ? 1 : 0;
      merged[length++] = number;
      lastAt = at;
    };
    const placeBefore = (number: number | undefined) => {
      const first = numbers[next];
      if (first === undefined || (number !== undefined && columns.compare(first, number) >= 0)) return false;
      add(first, -1);
      next += 1;
      return true;
    };
    for (let at = 0; at < before.length; at += 1) {
      const number = before[at] ?? 0;
      if (slice.isOverAt(length)) await slice.pause();
      if (((columns.flags[number] ?? 0) & IS_REMOVED) !== 0) continue;
      while (placeBefore(number)) if (slice.isOverAt(length)) await slice.pause();
      add(number, at);
    }
    while (placeBefore(undefined)) if (slice.isOverAt(length)) await slice.pause();
    this.order = length === merged.length ? merged : merged.slice(0, length);
    this.isRepeated = length === merged.length ? isRepeated : isRepeated.slice(0, length);
    const positions = new Int32Array(columns.count);
    for (let at = 0; at < length; at += 1) {
      if (slice.isOverAt(at)) await slice.pause();
      positions[merged[at] ?? 0] = at;
    }
    this.positions = positions;
    this.version += 1;
  }

  /** Applies changes, of which several may be of one name: the last state of an entry is the only one with a summary. */
  async apply(changes: readonly EntryChange[]): Promise<void> {
    if (changes.length === 0) return;
    const slice = new TimeSlice();
    for (const { type, name, sourceId } of changes) {
      const found = this.find(name, type, sourceId);
      if (found !== undefined) this.columns.remove(found);
      await slice.pause();
    }
    const numbers: number[] = [];
    for (const { summary } of changes) {
      if (summary) numbers.push(this.append(summary));
      await slice.pause();
    }
    await this.place(numbers.sort((one, other) => this.columns.compare(one, other)));
  }

  /** Removes the entries of all other sources. */
  async retain(sourceIds: ReadonlySet<number>): Promise<void> {
    const { columns } = this;
    const isKept = columns.partitionSources.map((sourceId) => sourceIds.has(sourceId));
    for (const number of this.order) if (!isKept[columns.partitions[number] ?? 0]) columns.remove(number);
    await this.place([]);
    await this.compact();
  }

  /** Stores the entries of the order alone, in this order and without spare room. All others must be removed. */
  async compact(): Promise<void> {
    await this.columns.gather(this.order);
    this.order = Int32Array.from(this.order, (_, position) => position);
    this.positions = this.order;
    this.version += 1;
  }

  viewOf(partitions: readonly (readonly [id: number, rank: number])[]): IndexView {
    const { partitionIds, partitionNumbers } = this.columns;
    const ranks = new Uint32Array(partitionIds.length);
    for (const [id, rank] of partitions) {
      const number = partitionNumbers.get(id);
      if (number !== undefined) ranks[number] = rank;
    }
    return { ranks };
  }

  /** Returns the position after the last entry with this name and type, or where it would be. */
  positionAfter({ name, type }: { readonly name: string; readonly type: EntryType }): number {
    return this.bound(bytesOf(name), ENTRY_TYPE_NAMES.indexOf(type), true);
  }

  /** Returns the position of the first entry with this name, whatever its type, or where it would be. */
  positionFrom(name: string): number {
    return this.bound(bytesOf(name), 0, false);
  }

  numberAt(position: number): number {
    return this.order[position] ?? 0;
  }

  nameAt(position: number): string {
    return this.columns.nameOf(this.numberAt(position));
  }

  typeAt(position: number): EntryType {
    const type = ENTRY_TYPE_NAMES[this.columns.typeNumberOf(this.numberAt(position))];
    if (!type) throw new Error('An entry of the search index has no type');
    return type;
  }

  partitionAt(position: number): number {
    return this.columns.partitionIds[this.columns.partitions[this.numberAt(position)] ?? 0] ?? 0;
  }

  updatedAt(position: number): number {
    return this.columns.updated[this.numberAt(position)] ?? 0;
  }

  private find(name: string, type: EntryType, sourceId: number): number | undefined {
    const { partitionSources, partitions } = this.columns;
    const bytes = bytesOf(name);
    const typeNumber = ENTRY_TYPE_NAMES.indexOf(type);
    const end = this.bound(bytes, typeNumber, true);
    for (let position = this.bound(bytes, typeNumber, false); position < end; position += 1) {
      const number = this.numberAt(position);
      if (partitionSources[partitions[number] ?? 0] === sourceId) return number;
    }
    return undefined;
  }

  /** Returns the first position at or after (`isAfter`: after) this name and type. */
  private bound(name: Uint8Array, typeNumber: number, isAfter: boolean): number {
    let low = 0;
    let high = this.order.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const compared = this.columns.compareTo(this.numberAt(middle), name, 0, name.length, typeNumber);
      if (compared < 0 || (isAfter && compared === 0)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

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
