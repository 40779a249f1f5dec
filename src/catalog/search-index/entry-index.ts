import { ENTRY_TYPE_NAMES, type EntryType } from '../../documents/entry-types.js';
import { isShown, type Status } from '../../documents/statuses.js';
import { TimeSlice } from '../../json/time-slice.js';
import { HAS_LONG_TEXTS, listMatch } from './list-match.js';
import { bytesOfNumber, counted, NumberReader, writeNumbers } from './packed-numbers.js';
import {
  bytesOf,
  compareBytes,
  eachWith,
  firstTexts,
  gatherTexts,
  inBlocks,
  Occurrence,
  occurrenceOf,
  TextTable,
  withRoom,
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

/** Of one entry: partition, flags, date, where its name and numbers start, and its place in the order. */
const BYTES_OF_COLUMNS = 4 + 1 + 8 + 2 * 4 + 4;

const TYPE_BITS = 3;
const IS_SHOWN = 4;
const IS_INSTALLABLE = 8;
/** The name in lower case is another text: the first of the title's words. */
const HAS_UPPER_CASE = 16;
const IS_REMOVED = 32;

/**
 * The latest versions of some sources, as columns outside the heap: about 75 bytes each, beside the distinct words,
 * tags and transports. `order` has the entries by name and type, like a list of all sources; entries not yet in it are
 * invisible. Texts are split at white space, as queries are, so a word of a query is inside one word of a text.
 */
export class EntryIndex {
  private readonly words = new TextTable();
  private readonly tags = new TextTable();
  private readonly transports = new TextTable();
  /** Numbers of partitions, replaced by small ones. */
  private readonly partitionNumbers = new Map<number, number>();
  private readonly partitionIds: number[] = [];
  private readonly partitionSources: number[] = [];

  private partitions = new Uint32Array(0);
  private flags = new Uint8Array(0);
  private updated = new Float64Array(0);
  private names: Uint8Array = new Uint8Array(0);
  private nameStarts: Uint32Array = new Uint32Array(1);
  /**
   * Numbers with variable length, for each entry: count of transports and the transports; the same for tags, for the words
   * of the title, of the description, and of tags; the words of other search texts. Words are in the order of the text.
   */
  private numbers: Uint8Array = new Uint8Array(0);
  private numberStarts: Uint32Array = new Uint32Array(1);
  private hasLongTexts = false;
  private count = 0;
  private order = new Int32Array(0);

  /** Bytes in use; columns have up to half as much spare room until `compact`. */
  get byteLength(): number {
    const tables = this.words.byteLength + this.tags.byteLength + this.transports.byteLength;
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
    if (summary.otherTexts === null) this.hasLongTexts = true;
    const others = (summary.otherTexts ?? []).filter((text) => text !== own);
    const numbers = [
      ...counted(transports.map((transport) => this.transports.add(transport))),
      ...counted(tags.map((tag) => this.tags.add(tag))),
      ...counted(numbersOf([...(hasUpperCase ? [lowerName] : []), ...wordsIn(title)])),
      ...counted(numbersOf(wordsIn(description))),
      ...counted(numbersOf([...new Set(tags.flatMap(wordsIn))])),
      ...numbersOf(others.flatMap(wordsIn)),
    ];
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
    const merged = new Int32Array(before.length + numbers.length);
    let length = 0;
    let next = 0;
    const placeBefore = (number: number | undefined) => {
      const first = numbers[next];
      if (first === undefined || (number !== undefined && this.compare(first, number) >= 0)) return false;
      merged[length++] = first;
      next += 1;
      return true;
    };
    for (const number of before) {
      if (slice.isOverAt(length)) await slice.pause();
      if (((this.flags[number] ?? 0) & IS_REMOVED) !== 0) continue;
      while (placeBefore(number)) if (slice.isOverAt(length)) await slice.pause();
      merged[length++] = number;
    }
    while (placeBefore(undefined)) if (slice.isOverAt(length)) await slice.pause();
    this.order = length === merged.length ? merged : merged.slice(0, length);
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
    this.order = this.order.filter((number) => isKept[this.partitions[number] ?? 0]);
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
    const { order, partitions } = this;
    let at = from;
    if (from > 0) while (at < to && this.sharesName(at - 1, at)) at += 1;
    while (at < to) {
      let best = ranks[partitions[order[at] ?? 0] ?? 0] ?? 0;
      let bestAt = at;
      let next = at + 1;
      for (; next < order.length && this.sharesName(at, next); next += 1) {
        const rank = ranks[partitions[order[next] ?? 0] ?? 0] ?? 0;
        if (rank === 0 || (best !== 0 && rank > best)) continue;
        best = rank;
        bestAt = next;
      }
      if (best !== 0 && ((this.flags[order[bestAt] ?? 0] ?? 0) & IS_SHOWN) !== 0) found[length++] = bestAt;
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
    return (position) => {
      const number = order[position] ?? 0;
      const flags = this.flags[number] ?? 0;
      if (type !== undefined && (flags & TYPE_BITS) !== type) return false;
      if (filter.installable !== undefined && ((flags & IS_INSTALLABLE) !== 0) !== filter.installable)
        return false;
      if (publisher && !this.nameBeginsWith(number, publisher)) return false;
      if (transport === undefined && tag === undefined) return true;
      const reader = new NumberReader(this.numbers, this.numberStarts[number]);
      return reader.groupHas(transport) && reader.groupHas(tag);
    };
  }

  /**
   * Returns how the entry at a position matches a word in lower case: see `Occurrence`; at the beginning of a word only
   * in its name or title.
   */
  match(word: string): (position: number) => number {
    const bytes = Buffer.from(word);
    const occurrences = this.words.occurrences(bytes);
    const found = occurrences?.found;
    const few = occurrences ? occurrences.few : [];
    const { order, count, names, nameStarts, numbers, numberStarts } = this;
    const { NONE, INSIDE, AT_WORD_START } = Occurrence;
    const ofWords = few?.map((number) => Buffer.from(bytesOfNumber(number)));
    const mayMatch =
      ofWords &&
      inBlocks(count, (first, end, add) => {
        eachWith(bytes, names, nameStarts, first, end, add);
        for (const ofWord of ofWords) eachWith(ofWord, numbers, numberStarts, first, end, add);
      });
    const reader = new NumberReader(numbers);
    return (position) => {
      const number = order[position] ?? 0;
      if (mayMatch && !mayMatch(number)) return NONE;
      const inName = occurrenceOf(bytes, names, nameStarts[number] ?? 0, nameStarts[number + 1] ?? 0);
      if (inName === AT_WORD_START || !found) return inName;
      reader.at = numberStarts[number] ?? 0;
      reader.skip(reader.next());
      reader.skip(reader.next());
      let match: number = inName;
      for (let left = reader.next(); left > 0; left -= 1) {
        const inTitle = found[reader.next()] ?? NONE;
        if (inTitle === AT_WORD_START) return AT_WORD_START;
        if (inTitle !== NONE) match = INSIDE;
      }
      if (match !== NONE) return match;
      for (let group = 0; group < 2; group += 1)
        for (let left = reader.next(); left > 0; left -= 1)
          if ((found[reader.next()] ?? NONE) !== NONE) return INSIDE;
      return NONE;
    };
  }

  /** Returns a test of whether a list with this search text may show a version of the entry at a position. */
  async listMatch(search: string, slice: TimeSlice): Promise<(position: number) => boolean> {
    const { order } = this;
    const { words, count, flags, hasLongTexts, names, nameStarts, numbers, numberStarts } = this;
    const columns = { words, count, flags, hasLongTexts, names, nameStarts, numbers, numberStarts };
    const matches = await listMatch(columns, search, slice);
    return (position) => matches(order[position] ?? 0);
  }

  /** Whether the entry at a position is visible, and shadowed by no other (contract §6). */
  isFirst(ranks: Uint32Array, position: number): boolean {
    const rankAt = (at: number) => ranks[this.partitions[this.order[at] ?? 0] ?? 0] ?? 0;
    const rank = rankAt(position);
    const shadows = (at: number) => rankAt(at) !== 0 && rankAt(at) < rank;
    if (rank === 0) return false;
    for (let at = position - 1; at >= 0 && this.sharesName(at, position); at -= 1)
      if (shadows(at)) return false;
    for (let at = position + 1; at < this.order.length && this.sharesName(at, position); at += 1)
      if (shadows(at)) return false;
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

  /** Returns empty counters for the tags and transports of entries. */
  counters(): EntryCounts {
    return {
      type: new Uint32Array(ENTRY_TYPE_NAMES.length),
      tag: new Uint32Array(this.tags.size),
      transport: new Uint32Array(this.transports.size),
    };
  }

  /** Counts the type, tags and transports of the entry at a position. */
  countAt(position: number, counts: EntryCounts): void {
    const number = this.order[position] ?? 0;
    const type = (this.flags[number] ?? 0) & TYPE_BITS;
    counts.type[type] = (counts.type[type] ?? 0) + 1;
    const reader = new NumberReader(this.numbers, this.numberStarts[number]);
    for (const counters of [counts.transport, counts.tag])
      for (let left = reader.next(); left > 0; left -= 1) {
        const value = reader.next();
        counters[value] = (counters[value] ?? 0) + 1;
      }
  }

  /** The values that counters count, by their numbers. */
  get countedTexts(): Record<keyof EntryCounts, (number: number) => string> {
    return {
      type: (number) => ENTRY_TYPE_NAMES[number] ?? '',
      tag: (number) => this.tags.text(number),
      transport: (number) => this.transports.text(number),
    };
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

  private sharesName(position: number, other: number): boolean {
    const one = this.order[position] ?? 0;
    const two = this.order[other] ?? 0;
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

/** How many entries have each type, tag and transport, by their numbers. */
export interface EntryCounts {
  readonly type: Uint32Array;
  readonly tag: Uint32Array;
  readonly transport: Uint32Array;
}

function wordsIn(text: string | null): string[] {
  return text === null ? [] : text.toLowerCase().split(/\s+/u).filter(Boolean);
}
