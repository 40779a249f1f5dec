import { ENTRY_TYPE_NAMES, type EntryType } from '../../documents/entry-types.js';
import { isShown, type Status } from '../../documents/statuses.js';
import { TimeSlice } from '../../json/time-slice.js';
import { bytesOfNumbers, counted, NumberReader, withRoom, writeNumbers } from './packed-numbers.js';
import { DenseWords, type EachWord } from './dense-words.js';
import { Signatures } from './signatures.js';
import { bytesOf, compareBytes, firstTexts, gatherTexts, TextTable } from './text-table.js';

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

/** Of one entry: partition, kind, signature, flags, date, and where its name and numbers start. */
const BYTES_OF_COLUMNS = 4 + 4 + Signatures.BYTES + 1 + 8 + 2 * 4;

/** Bits of `EntryColumns.flags`: the lowest two are the type. */
export const TYPE_BITS = 3;
export const IS_SHOWN = 4;
export const IS_INSTALLABLE = 8;
/** The name in lower case is another text: the first of the title's words. */
export const HAS_UPPER_CASE = 16;
export const IS_REMOVED = 32;
/** Other texts are too long for the index. */
export const HAS_LONG_TEXTS = 64;

/** Groups of `EntryColumns.numbers` that begin with their count: words of titles and descriptions. */
export const COUNTED_GROUPS = 2;

/**
 * The latest versions of some sources, as columns outside the heap, by number of the entry. Distinct words, tags and transports
 * are stored once. Texts are split at white space, as queries are, so a word of a query is inside one word of a text.
 */
export class EntryColumns {
  readonly words = new TextTable();
  readonly tags = new TextTable();
  readonly transports = new TextTable();
  /**
   * Distinct transports and tags of an entry, as numbers: count of transports and the transports; the same for tags, and for
   * the words of tags.
   */
  readonly kinds = new TextTable();
  /** Numbers of partitions, replaced by small ones. */
  readonly partitionNumbers = new Map<number, number>();
  readonly partitionIds: number[] = [];
  readonly partitionSources: number[] = [];
  /** Of all texts that ranked searches and lists look at. */
  readonly signatures = new Signatures();
  denseWords = new DenseWords();

  partitions = new Uint32Array(0);
  kindOf = new Uint32Array(0);
  flags = new Uint8Array(0);
  updated = new Float64Array(0);
  names: Uint8Array = new Uint8Array(0);
  nameStarts: Uint32Array = new Uint32Array(1);
  /**
   * Numbers with variable length, for each entry: count of words in the title and the words; the same for the description;
   * the words of other search texts. Words are in the order of the text.
   */
  numbers: Uint8Array = new Uint8Array(0);
  numberStarts: Uint32Array = new Uint32Array(1);
  count = 0;

  /** Bytes in use; columns have up to half as much spare room until `gather`. */
  get byteLength(): number {
    const { words, tags, transports, kinds } = this;
    const tables = [words, tags, transports, kinds].reduce((sum, { byteLength }) => sum + byteLength, 0);
    const texts = (this.nameStarts[this.count] ?? 0) + (this.numberStarts[this.count] ?? 0);
    return (
      tables +
      texts +
      this.denseWords.byteLength +
      BYTES_OF_COLUMNS * this.count +
      100 * this.partitionIds.length
    );
  }

  /** Adds an entry and returns its number. */
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
    const others = summary.otherTexts?.filter((text) => text !== own) ?? null;
    const titles = [lowerName, ...wordsIn(title)];
    // With the slash, it has the bits of `/word` for a word that is the name or its last segment.
    this.signatures.add(number, titles, [`/${own}`, ...tags.map((tag) => tag.toLowerCase())], others);
    const numbers = [
      ...counted(numbersOf([...(hasUpperCase ? [lowerName] : []), ...wordsIn(title)])),
      ...counted(numbersOf(wordsIn(description))),
      ...numbersOf((others ?? []).flatMap(wordsIn)),
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
    this.denseWords.add(number, this.eachWord);
    return number;
  }

  remove(number: number): void {
    this.flags[number] = (this.flags[number] ?? 0) | IS_REMOVED;
  }

  /** Keeps these entries alone, in this order and without spare room. */
  async gather(order: Int32Array): Promise<void> {
    const { nameStarts, numberStarts, names, numbers } = this;
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
    await this.signatures.gather(order);
    await slice.pause();
    this.flags = Uint8Array.from(order, (number) => this.flags[number] ?? 0);
    await slice.pause();
    this.updated = Float64Array.from(order, (number) => this.updated[number] ?? 0);
    this.count = order.length;
    this.denseWords = await DenseWords.of(this.count, this.words.size, this.eachWord);
  }

  /** Calls `visit` with each word of the title and description. */
  readonly eachWord: EachWord = (number, visit) => {
    const reader = new NumberReader(this.numbers, this.numberStarts[number]);
    for (let group = 0; group < COUNTED_GROUPS; group += 1)
      for (let left = reader.next(); left > 0; left -= 1) visit(reader.next());
  };

  nameOf(number: number): string {
    return Buffer.from(this.names.subarray(this.nameStarts[number], this.nameStarts[number + 1])).toString();
  }

  /** The position of its type in `ENTRY_TYPE_NAMES`. */
  typeNumberOf(number: number): number {
    return (this.flags[number] ?? 0) & TYPE_BITS;
  }

  nameBeginsWith(number: number, bytes: Uint8Array): boolean {
    return this.nameLength(number) >= bytes.length && this.nameHas(this.nameStarts[number] ?? 0, bytes);
  }

  nameEndsWith(number: number, bytes: Uint8Array): boolean {
    return (
      this.nameLength(number) >= bytes.length &&
      this.nameHas((this.nameStarts[number + 1] ?? 0) - bytes.length, bytes)
    );
  }

  nameLength(number: number): number {
    return (this.nameStarts[number + 1] ?? 0) - (this.nameStarts[number] ?? 0);
  }

  /** Compares an entry's name and type, as they are ordered. */
  compareTo(number: number, name: Uint8Array, from: number, to: number, typeNumber: number): number {
    const start = this.nameStarts[number] ?? 0;
    const end = this.nameStarts[number + 1] ?? 0;
    return compareBytes(this.names, start, end, name, from, to) || this.typeNumberOf(number) - typeNumber;
  }

  compare(one: number, other: number): number {
    const { names, nameStarts } = this;
    const type = this.typeNumberOf(other);
    return this.compareTo(one, names, nameStarts[other] ?? 0, nameStarts[other + 1] ?? 0, type);
  }

  sharesName(one: number, two: number): boolean {
    if (this.typeNumberOf(one) !== this.typeNumberOf(two)) return false;
    const { names, nameStarts } = this;
    const start = nameStarts[one] ?? 0;
    const otherStart = nameStarts[two] ?? 0;
    const length = this.nameLength(one);
    if (this.nameLength(two) !== length) return false;
    // Neighbours mostly differ at the end.
    for (let at = length - 1; at >= 0; at -= 1)
      if (names[start + at] !== names[otherStart + at]) return false;
    return true;
  }

  private nameHas(start: number, bytes: Uint8Array): boolean {
    for (let at = 0; at < bytes.length; at += 1) if (this.names[start + at] !== bytes[at]) return false;
    return true;
  }

  private partitionNumber({ partitionId, sourceId }: IndexedSummary): number {
    const known = this.partitionNumbers.get(partitionId);
    if (known !== undefined) return known;
    this.partitionNumbers.set(partitionId, this.partitionIds.length);
    this.partitionIds.push(partitionId);
    this.partitionSources.push(sourceId);
    return this.partitionIds.length - 1;
  }
}

function wordsIn(text: string | null): string[] {
  return text === null ? [] : text.toLowerCase().split(/\s+/u).filter(Boolean);
}
