import { TimeSlice } from '../../json/time-slice.js';
import { addBit, elementsFor } from './bit-sets.js';
import { withRoom } from './packed-numbers.js';

/** A word is dense if one entry in this many has it. */
const ONE_IN = 32;
/** Maximum number of dense words: each takes one bit for each entry. */
const MAX_WORDS = 128;

/** Calls `visit` with each word of an entry's title and description. */
export type EachWord = (number: number, visit: (word: number) => void) => void;

/** Sets of the entries with words that many have in title or description, so that searches need not read these. */
export class DenseWords {
  private readonly sets = new Map<number, Int32Array>();

  /** Chooses the dense words of `count` entries. */
  static async of(count: number, words: number, eachWord: EachWord): Promise<DenseWords> {
    const slice = new TimeSlice();
    const counts = new Uint32Array(words);
    const countWord = (word: number) => {
      counts[word] = (counts[word] ?? 0) + 1;
    };
    for (let number = 0; number < count; number += 1) {
      if (slice.isOverAt(number)) await slice.pause();
      eachWord(number, countWord);
    }
    const dense: number[] = [];
    for (let word = 0; word < words; word += 1) {
      if (slice.isOverAt(word)) await slice.pause();
      if ((counts[word] ?? 0) * ONE_IN > count) dense.push(word);
    }
    const most = dense.sort((one, other) => (counts[other] ?? 0) - (counts[one] ?? 0)).slice(0, MAX_WORDS);
    const found = new DenseWords();
    for (const word of most) found.sets.set(word, new Int32Array(elementsFor(count)));
    for (let number = 0; number < count; number += 1) {
      if (slice.isOverAt(number)) await slice.pause();
      found.add(number, eachWord);
    }
    return found;
  }

  get byteLength(): number {
    let bytes = 0;
    for (const set of this.sets.values()) bytes += set.byteLength;
    return bytes;
  }

  /** Adds an entry to the sets of its dense words. */
  add(number: number, eachWord: EachWord): void {
    eachWord(number, (word) => {
      const set = this.sets.get(word);
      if (!set) return;
      const roomy = withRoom(set, elementsFor(number + 1));
      if (roomy !== set) this.sets.set(word, roomy);
      addBit(roomy, number);
    });
  }

  /** Returns the sets of entries with a dense word that passes. */
  setsOf(passes: (word: number) => boolean): readonly Int32Array[] {
    return [...this.sets].flatMap(([word, set]) => (passes(word) ? [set] : []));
  }
}
