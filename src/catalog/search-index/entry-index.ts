import { ENTRY_TYPE_NAMES, type EntryType } from '../../documents/entry-types.js';
import { isShown, type Status } from '../../documents/statuses.js';
import { TimeSlice } from '../../json/time-slice.js';
import { COUNTED_GROUPS, HAS_LONG_TEXTS, listMatch, type TextMatch } from './list-match.js';
import { Signatures } from './signatures.js';
import { bytesOfNumbers, counted, NumberReader, withRoom, writeNumbers } from './packed-numbers.js';
import {
  bytesOf,
  compareBytes,
  firstTexts,
  gatherTexts,
  isWithin,
  Occurrence,
  occurrenceOf,
  TextTable,
} from './text-table.js';

/** A summary (see `EntrySummary`) with its source. */
export interface IndexedSummary {
  readonly sourceId: number;
  readonly partitionId: number;
  readonly type: EntryType;
  readonly name: string;
  readonly status: Status;
  readonly title: string | null;
  readonly description: string | null;
  readonly tags: readonly string[];
  readonly transports: readonly string[];
  readonly installable: boolean;
  /** Milliseconds since 1970. */
  readonly updated: number;
  /** Search texts of its versions, where they differ from the one of this summary; null if they are too long. */
  readonly otherTexts: readonly string[] | null;
}

/** An entry that was written, moved or removed. */
export interface EntryChange {
  readonly sourceId: number;
  readonly type: EntryType;
  readonly name: string;
  /** Null if there is none any more, or it is being written. */
  readonly summary: IndexedSummary | null;
}

/** Of one entry: partition, kind, signature, flags, date, where its name and numbers start, its place, and `isRepeated`. */
const BYTES_OF_COLUMNS = 4 + 4 + Signatures.BYTES + 1 + 8 + 2 * 4 + 4 + 1;

const TYPE_BITS = 3;
const IS_SHOWN = 4;
const IS_INSTALLABLE = 8;
/** The name in lower case is another text: the first of the title's words. */
const HAS_UPPER_CASE = 16;
const IS_REMOVED = 32;

/**
 * The latest versions of some sources, as columns outside the heap: about 100 bytes each, beside the distinct words,
 * tags and transports. `order` has the entries by name and type, like a list of all sources; entries not yet in it are
 * invisible. Texts are split at white space, as queries are, so a word of a query is inside one word of a text.
 */
export class EntryIndex {
  private readonly words = new TextTable();
  private readonly tags = new TextTable();
  private readonly transports = new TextTable();
  /**
   * Distinct transports and tags of an entry, as numbers: count of transports and the transports; the same for tags, and for
   * the words of tags.
   */
  private readonly kinds = new TextTable();
  /** Numbers of partitions, replaced by small ones. */
  private readonly partitionNumbers = new Map<number, number>();
  private readonly partitionIds: number[] = [];
  private readonly partitionSources: number[] = [];

  private partitions = new Uint32Array(0);
  private kindOf = new Uint32Array(0);
  /** Of all texts that ranked searches and lists look at. */
  private readonly signatures = new Signatures();
  private flags = new Uint8Array(0);
  private updated = new Float64Array(0);
  private names: Uint8Array = new Uint8Array(0);
  private nameStarts: Uint32Array = new Uint32Array(1);
  /**
   * Numbers with variable length, for each entry: count of words in the title and the words; the same for the description;
   * the words of other search texts. Words are in the order of the text.
   */
  private numbers: Uint8Array = new Uint8Array(0);
  private numberStarts: Uint32Array = new Uint32Array(1);
  private count = 0;
  private order = new Int32Array(0);
  /** For each place in the order: 1 if the entry before has the same name and type. */
  private isRepeated = new Uint8Array(0);

  /** Bytes in use; columns have up to half as much spare room until `compact`. */
  get byteLength(): number {
    const { words, tags, transports, kinds } = this;
    const tables = [words, tags, transports, kinds].reduce((sum, { byteLength }) => sum + byteLength, 0);
    const texts = (this.nameStarts[this.count] ?? 0) + (this.numberStarts[this.count] ?? 0);
    return tables + texts + BYTES_OF_COLUMNS * this.count + 100 * this.partitionIds.length;
  }

  /** The entries in the order. */
  get size(): number {
    return this.order.length;
  }

  /** Whether a quarter of the entries is no longer in the order. */
  get isSparse(): boolean {
    return this.count - this.order.length > 1_000 + this.order.length / 4;
  }

  /** Adds an entry that is not yet in the order, and returns its number. */
  append(summary: IndexedSummary): number {
    const { name, type, status, title, description, tags, transports } = summary;
    const number = this.count;
    const lowerName = name.toLowerCase();
    const hasUpperCase = lowerName !== name;
    this.partitions = withRoom(this.partitions, number + 1);
    this.partitions[number] = this.partitionNumber(summary);
    this.flags = withRoom(this.flags, number + 1);
    this.flags[number] =
      ENTRY_TYPE_NAMES.indexOf(type) |
      (isShown(status) ? IS_SHOWN : 0) |
      (summary.installable ? IS_INSTALLABLE : 0) |
      (summary.otherTexts === null ? HAS_LONG_TEXTS : 0) |
      (hasUpperCase ? HAS_UPPER_CASE : 0);
    this.updated = withRoom(this.updated, number + 1);
    this.updated[number] = summary.updated;

    const bytes = bytesOf(name);
    const nameStart = this.nameStarts[number] ?? 0;
    this.names = withRoom(this.names, nameStart + bytes.length);
    this.names.set(bytes, nameStart);
    this.nameStarts = withRoom(this.nameStarts, number + 2);
    this.nameStarts[number + 1] = nameStart + bytes.length;

    const numbersOf = (words: readonly string[]) => words.map((word) => this.words.add(word));
    const own = [name, title, description]
      .filter((text) => text !== null)
      .join('\n')
      .toLowerCase();
    const others = (summary.otherTexts ?? []).filter((text) => text !== own);
    this.signatures.set(number, [own, ...others, ...tags.map((tag) => tag.toLowerCase())]);
    const numbers = [
      ...counted(numbersOf([...(hasUpperCase ? [lowerName] : []), ...wordsIn(title)])),
      ...counted(numbersOf(wordsIn(description))),
      ...numbersOf(others.flatMap(wordsIn)),
    ];
    const kind = [
      ...counted(transports.map((transport) => this.transports.add(transport))),
      ...counted(tags.map((tag) => this.tags.add(tag))),
      ...counted(numbersOf([...new Set(tags.flatMap(wordsIn))])),
    ];
    this.kindOf = withRoom(this.kindOf, number + 1);
    this.kindOf[number] = this.kinds.addBytes(bytesOfNumbers(kind));
    this.numberStarts = withRoom(this.numberStarts, number + 2);
    [this.numbers, this.numberStarts[number + 1]] = writeNumbers(
      this.numbers,
      this.numberStarts[number] ?? 0,
      numbers,
    );
    this.count += 1;
    return number;
  }

  /** Adds appended entries to the order. @param numbers by name and type, as in the order. */
  async place(numbers: readonly number[]): Promise<void> {
    const slice = new TimeSlice();
    const before = this.order;
    const wasRepeated = this.isRepeated;
    const merged = new Int32Array(before.length + numbers.length);
    const isRepeated = new Uint8Array(merged.length);
    let length = 0;
    let next = 0;
    /** Where the last entry was before; -1 if it is new. */
    let lastAt = -1;
    const add = (number: number, at: number) => {
      const isUnchanged = at > 0 && lastAt === at - 1;
      if (isUnchanged) isRepeated[length] = wasRepeated[at] ?? 0;
      else if (length > 0) isRepeated[length] = this.sharesName(merged[length - 1] ?? 0, number) ? 1 : 0;
      merged[length++] = number;
      lastAt = at;
    };
    const placeBefore = (number: number | undefined) => {
      const first = numbers[next];
      if (first === undefined || (number !== undefined && this.compare(first, number) >= 0)) return false;
      add(first, -1);
      next += 1;
      return true;
    };
    for (let at = 0; at < before.length; at += 1) {
      const number = before[at] ?? 0;
      if (slice.isOverAt(length)) await slice.pause();
      if (((this.flags[number] ?? 0) & IS_REMOVED) !== 0) continue;
      while (placeBefore(number)) if (slice.isOverAt(length)) await slice.pause();
      add(number, at);
    }
    while (placeBefore(undefined)) if (slice.isOverAt(length)) await slice.pause();
    this.order = length === merged.length ? merged : merged.slice(0, length);
    this.isRepeated = length === merged.length ? isRepeated : isRepeated.slice(0, length);
  }

  /** Applies changes, of which several may be of one name: the last state of an entry is the only one with a summary. */
  async apply(changes: readonly EntryChange[]): Promise<void> {
    const slice = new TimeSlice();
    for (const { type, name, sourceId } of changes) {
      const found = this.find(name, type, sourceId);
      if (found !== undefined) this.flags[found] = (this.flags[found] ?? 0) | IS_REMOVED;
      await slice.pause();
    }
    const numbers: number[] = [];
    for (const { summary } of changes) {
      if (summary) numbers.push(this.append(summary));
      await slice.pause();
    }
    if (changes.length > 0) await this.place(numbers.sort((one, other) => this.compare(one, other)));
  }

  /** Removes the entries of all other sources. */
  async retain(sourceIds: ReadonlySet<number>): Promise<void> {
    const isKept = this.partitionSources.map((sourceId) => sourceIds.has(sourceId));
    for (const number of this.order)
      if (!isKept[this.partitions[number] ?? 0]) this.flags[number] = (this.flags[number] ?? 0) | IS_REMOVED;
    await this.place([]);
    await this.compact();
  }

  /** Stores the entries of the order alone, in this order and without spare room. All others must be removed. */
  async compact(): Promise<void> {
    const { order, nameStarts, numberStarts, names, numbers } = this;
    const slice = new TimeSlice();
    await slice.pause();
    const isInOrder = order.every((number, position) => number === position);
    const gathered = async (bytes: Uint8Array, starts: Uint32Array) => {
      await slice.pause();
      return isInOrder ? firstTexts(order.length, bytes, starts) : gatherTexts(order, bytes, starts, slice);
    };
    [this.names, this.nameStarts] = await gathered(names, nameStarts);
    [this.numbers, this.numberStarts] = await gathered(numbers, numberStarts);
    await slice.pause();
    this.partitions = Uint32Array.from(order, (number) => this.partitions[number] ?? 0);
    await slice.pause();
    this.kindOf = Uint32Array.from(order, (number) => this.kindOf[number] ?? 0);
    await slice.pause();
    this.signatures.gather(order);
    await slice.pause();
    this.flags = Uint8Array.from(order, (number) => this.flags[number] ?? 0);
    await slice.pause();
    this.updated = Float64Array.from(order, (number) => this.updated[number] ?? 0);
    this.order = Int32Array.from(order, (_, position) => position);
    this.count = order.length;
  }

  /** Returns the rank of each partition's number, 0 for hidden ones. */
  ranksOf(partitions: readonly (readonly [id: number, rank: number])[]): Uint32Array {
    const ranks = new Uint32Array(this.partitionIds.length);
    for (const [id, rank] of partitions) {
      const number = this.partitionNumbers.get(id);
      if (number !== undefined) ranks[number] = rank;
    }
    return ranks;
  }

  /**
   * Writes the positions of visible entries that no other shadows (contract §6) to `found`.
   *
   * @param ranks see `ranksOf`; of entries with one name, the one with the lowest rank counts.
   * @param positions from and to which position of the order; a name that begins before `from` is skipped, and one that
   *   begins before `to` is completed.
   * @returns the new length of `found`.
   */
  visible(
    ranks: Uint32Array,
    [from, to]: readonly [number, number],
    found: Int32Array,
    length: number,
  ): number {
    const { order, partitions, isRepeated, flags } = this;
    let at = from;
    if (from > 0) while (at < to && isRepeated[at] === 1) at += 1;
    while (at < to) {
      let bestNumber = order[at] ?? 0;
      let best = ranks[partitions[bestNumber] ?? 0] ?? 0;
      let bestAt = at;
      let next = at + 1;
      for (; next < order.length && isRepeated[next] === 1; next += 1) {
        const number = order[next] ?? 0;
        const rank = ranks[partitions[number] ?? 0] ?? 0;
        if (rank === 0 || (best !== 0 && rank > best)) continue;
        best = rank;
        bestNumber = number;
        bestAt = next;
      }
      if (best !== 0 && ((flags[bestNumber] ?? 0) & IS_SHOWN) !== 0) found[length++] = bestAt;
      at = next;
    }
    return length;
  }

  /** Returns a test of the entry at a position; null if nothing passes. */
  filter(filter: {
    readonly type?: EntryType;
    readonly tag?: string;
    readonly transport?: string;
    readonly publisher?: string;
    readonly installable?: boolean;
  }): ((position: number) => boolean) | null {
    const { order } = this;
    const tag = filter.tag === undefined ? undefined : this.tags.find(filter.tag);
    const transport = filter.transport === undefined ? undefined : this.transports.find(filter.transport);
    if (tag === -1 || transport === -1) return null;
    const type = filter.type === undefined ? undefined : ENTRY_TYPE_NAMES.indexOf(filter.type);
    const publisher = filter.publisher === undefined ? undefined : bytesOf(`${filter.publisher}/`);
    const kindPasses = once(this.kinds.size, (kind) => {
      const reader = this.kinds.reader(kind);
      return reader.groupHas(transport) && reader.groupHas(tag);
    });
    return (position) => {
      const number = order[position] ?? 0;
      const flags = this.flags[number] ?? 0;
      if (type !== undefined && (flags & TYPE_BITS) !== type) return false;
      if (filter.installable !== undefined && ((flags & IS_INSTALLABLE) !== 0) !== filter.installable)
        return false;
      if (publisher && !this.nameBeginsWith(number, publisher)) return false;
      return (transport === undefined && tag === undefined) || kindPasses(this.kindOf[number] ?? 0);
    };
  }

  /** Finds a word in lower case in the entries at some positions. */
  word(word: string): WordMatch {
    const bytes = bytesOf(word);
    const { order, words, kindOf, names, nameStarts, numbers, numberStarts } = this;
    const mayHave = this.signatures.test([word]);
    const isIn = once(words.size, (number) => words.occurrence(bytes, number) !== Occurrence.NONE);
    const isInKind = once(this.kinds.size, (kind) => {
      const reader = this.kinds.reader(kind);
      reader.skip(reader.next());
      reader.skip(reader.next());
      return reader.groupPasses(isIn);
    });
    const isInName = (number: number) =>
      isWithin(bytes, names, nameStarts[number] ?? 0, nameStarts[number + 1] ?? 0);
    // Reads numbers like `NumberReader`, but in a single loop.
    const isInTexts = (number: number) => {
      let group = 0;
      let left = 0;
      for (let at = numberStarts[number] ?? 0; ;) {
        let byte = numbers[at++] ?? 0;
        let value = byte & 127;
        for (let shift = 7; byte > 127; shift += 7) {
          byte = numbers[at++] ?? 0;
          value |= (byte & 127) << shift;
        }
        if (left > 0) {
          if (isIn(value)) return true;
          left -= 1;
        } else {
          left = value;
          group += 1;
        }
        if (left === 0 && group === COUNTED_GROUPS) return false;
      }
    };
    return {
      has: (position) => {
        const number = order[position] ?? 0;
        return mayHave(number) && (isInTexts(number) || isInName(number) || isInKind(kindOf[number] ?? 0));
      },
      begins: (position) => {
        const number = order[position] ?? 0;
        const start = nameStarts[number] ?? 0;
        const { AT_WORD_START } = Occurrence;
        if (occurrenceOf(bytes, names, start, nameStarts[number + 1] ?? 0) === AT_WORD_START) return true;
        const reader = new NumberReader(numbers, numberStarts[number]);
        return reader.groupPasses((title) => words.occurrence(bytes, title) === AT_WORD_START);
      },
    };
  }

  /** Returns tests, by position, of whether a list with this search text may show a version of the entry. */
  listMatch(search: string): TextMatch {
    const { order, words, flags, signatures, names, nameStarts, numbers, numberStarts } = this;
    const columns = { words, flags, signatures, names, nameStarts, numbers, numberStarts };
    const { mayHave, has } = listMatch(columns, search);
    return {
      mayHave: (position) => mayHave(order[position] ?? 0),
      has: (position) => has(order[position] ?? 0),
    };
  }

  /** Whether the entry at a position is visible, and shadowed by no other (contract §6). */
  isFirst(ranks: Uint32Array, position: number): boolean {
    const { isRepeated } = this;
    const rank = this.rankAt(ranks, position);
    if (rank === 0) return false;
    for (let at = position; at > 0 && isRepeated[at] === 1; at -= 1)
      if (this.shadows(ranks, at - 1, rank)) return false;
    for (let at = position + 1; at < isRepeated.length && isRepeated[at] === 1; at += 1)
      if (this.shadows(ranks, at, rank)) return false;
    return true;
  }

  /** Returns a test of whether the entry at a position has this name in lower case (0), or this last segment of it (1). */
  nameRank(word: string): (position: number) => 0 | 1 | undefined {
    const bytes = bytesOf(word);
    const asSegment = word.includes('/') ? null : bytesOf(`/${word}`);
    return (position) => {
      const number = this.order[position] ?? 0;
      if (((this.flags[number] ?? 0) & HAS_UPPER_CASE) !== 0) {
        const name = this.nameAt(position).toLowerCase();
        if (name === word) return 0;
        return asSegment && name.endsWith(`/${word}`) ? 1 : undefined;
      }
      if (this.nameLength(number) === bytes.length) return this.nameBeginsWith(number, bytes) ? 0 : undefined;
      return asSegment && this.nameEndsWith(number, asSegment) ? 1 : undefined;
    };
  }

  /** Returns the position after the last entry with this name and type, or where it would be. */
  positionAfter({ name, type }: { readonly name: string; readonly type: EntryType }): number {
    return this.bound(bytesOf(name), ENTRY_TYPE_NAMES.indexOf(type), true);
  }

  /** Returns the position of the first entry with this name, whatever its type, or where it would be. */
  positionFrom(name: string): number {
    return this.bound(bytesOf(name), 0, false);
  }

  nameAt(position: number): string {
    const number = this.order[position] ?? 0;
    return Buffer.from(this.names.subarray(this.nameStarts[number], this.nameStarts[number + 1])).toString();
  }

  typeAt(position: number): EntryType {
    const type = ENTRY_TYPE_NAMES[(this.flags[this.order[position] ?? 0] ?? 0) & TYPE_BITS];
    if (!type) throw new Error('An entry of the search index has no type');
    return type;
  }

  partitionAt(position: number): number {
    return this.partitionIds[this.partitions[this.order[position] ?? 0] ?? 0] ?? 0;
  }

  updatedAt(position: number): number {
    return this.updated[this.order[position] ?? 0] ?? 0;
  }

  /** Returns empty counters. */
  counters(): EntryCounts {
    return {
      type: new Uint32Array(ENTRY_TYPE_NAMES.length),
      kind: new Uint32Array(this.kinds.size),
      tag: new Uint32Array(this.tags.size),
      transport: new Uint32Array(this.transports.size),
    };
  }

  /** Counts the type and kind of the entry at a position. */
  countAt(position: number, { type, kind }: EntryCounts): void {
    const number = this.order[position] ?? 0;
    const ofType = (this.flags[number] ?? 0) & TYPE_BITS;
    type[ofType] = (type[ofType] ?? 0) + 1;
    const ofKind = this.kindOf[number] ?? 0;
    kind[ofKind] = (kind[ofKind] ?? 0) + 1;
  }

  /** Counts the tags and transports of some kinds, once all entries are counted. */
  countKinds([from, to]: readonly [number, number], { kind, transport, tag }: EntryCounts): void {
    for (let ofKind = from; ofKind < to; ofKind += 1) {
      const count = kind[ofKind] ?? 0;
      if (count === 0) continue;
      const reader = this.kinds.reader(ofKind);
      for (const counters of [transport, tag])
        for (let left = reader.next(); left > 0; left -= 1) {
          const value = reader.next();
          counters[value] = (counters[value] ?? 0) + count;
        }
    }
  }

  /** The values that counters count, by their numbers. */
  get countedTexts(): Record<Exclude<keyof EntryCounts, 'kind'>, (number: number) => string> {
    return {
      type: (number) => ENTRY_TYPE_NAMES[number] ?? '',
      tag: (number) => this.tags.text(number),
      transport: (number) => this.transports.text(number),
    };
  }

  private rankAt(ranks: Uint32Array, position: number): number {
    return ranks[this.partitions[this.order[position] ?? 0] ?? 0] ?? 0;
  }

  private shadows(ranks: Uint32Array, position: number, rank: number): boolean {
    const own = this.rankAt(ranks, position);
    return own !== 0 && own < rank;
  }

  private partitionNumber({ partitionId, sourceId }: IndexedSummary): number {
    const known = this.partitionNumbers.get(partitionId);
    if (known !== undefined) return known;
    this.partitionNumbers.set(partitionId, this.partitionIds.length);
    this.partitionIds.push(partitionId);
    this.partitionSources.push(sourceId);
    return this.partitionIds.length - 1;
  }

  private find(name: string, type: EntryType, sourceId: number): number | undefined {
    const bytes = bytesOf(name);
    const typeNumber = ENTRY_TYPE_NAMES.indexOf(type);
    const end = this.bound(bytes, typeNumber, true);
    for (let position = this.bound(bytes, typeNumber, false); position < end; position += 1) {
      const number = this.order[position] ?? 0;
      if (this.partitionSources[this.partitions[number] ?? 0] === sourceId) return number;
    }
    return undefined;
  }

  /** Returns the first position at or after (`isAfter`: after) this name and type. */
  private bound(name: Uint8Array, type: number, isAfter: boolean): number {
    let low = 0;
    let high = this.order.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const number = this.order[middle] ?? 0;
      const compared =
        compareBytes(
          this.names,
          this.nameStarts[number] ?? 0,
          this.nameStarts[number + 1] ?? 0,
          name,
          0,
          name.length,
        ) || ((this.flags[number] ?? 0) & TYPE_BITS) - type;
      if (compared < 0 || (isAfter && compared === 0)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private compare(one: number, other: number): number {
    const { names, nameStarts, flags } = this;
    return (
      compareBytes(
        names,
        nameStarts[one] ?? 0,
        nameStarts[one + 1] ?? 0,
        names,
        nameStarts[other] ?? 0,
        nameStarts[other + 1] ?? 0,
      ) || ((flags[one] ?? 0) & TYPE_BITS) - ((flags[other] ?? 0) & TYPE_BITS)
    );
  }

  private sharesName(one: number, two: number): boolean {
    if ((((this.flags[one] ?? 0) ^ (this.flags[two] ?? 0)) & TYPE_BITS) !== 0) return false;
    const { names, nameStarts } = this;
    const start = nameStarts[one] ?? 0;
    const otherStart = nameStarts[two] ?? 0;
    const length = (nameStarts[one + 1] ?? 0) - start;
    if ((nameStarts[two + 1] ?? 0) - otherStart !== length) return false;
    // Neighbours mostly differ at the end.
    for (let at = length - 1; at >= 0; at -= 1)
      if (names[start + at] !== names[otherStart + at]) return false;
    return true;
  }

  private nameLength(number: number): number {
    return (this.nameStarts[number + 1] ?? 0) - (this.nameStarts[number] ?? 0);
  }

  private nameBeginsWith(number: number, bytes: Uint8Array): boolean {
    return this.nameLength(number) >= bytes.length && this.nameHas(this.nameStarts[number] ?? 0, bytes);
  }

  private nameEndsWith(number: number, bytes: Uint8Array): boolean {
    return (
      this.nameLength(number) >= bytes.length &&
      this.nameHas((this.nameStarts[number + 1] ?? 0) - bytes.length, bytes)
    );
  }

  private nameHas(start: number, bytes: Uint8Array): boolean {
    for (let at = 0; at < bytes.length; at += 1) if (this.names[start + at] !== bytes[at]) return false;
    return true;
  }
}

/** How many entries have each type, kind, tag and transport, by their numbers. */
export interface EntryCounts {
  readonly type: Uint32Array;
  readonly kind: Uint32Array;
  readonly tag: Uint32Array;
  readonly transport: Uint32Array;
}

/** Finds a word in the entries at some positions. */
export interface WordMatch {
  /** Whether it is in the name, title, description or tags. */
  has(position: number): boolean;
  /** Whether it is at the beginning of a word in the name or title. */
  begins(position: number): boolean;
}

/** Returns a test of numbers below `count` that tests each number at most once. */
function once(count: number, test: (number: number) => boolean): (number: number) => boolean {
  /** 0 if unknown, 1 if it fails, 2 if it passes. */
  const results = new Uint8Array(count);
  return (number) => (results[number] || (results[number] = test(number) ? 2 : 1)) === 2;
}

function wordsIn(text: string | null): string[] {
  return text === null ? [] : text.toLowerCase().split(/\s+/u).filter(Boolean);
}
