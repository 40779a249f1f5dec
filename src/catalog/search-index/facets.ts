import { ENTRY_TYPE_NAMES } from '../../documents/entry-types.js';
import type { InSteps } from '../../json/time-slice.js';
import { type EntryColumns, TYPE_BITS } from './entry-columns.js';
import { ENTRIES_PER_STEP } from './entry-index.js';

/** Values of a facet per step: publishers may choose tags of tens of kilobytes. */
const FACET_STEP = 256;
/** Number of values in a facet (contract §6.3). */
const FACET_VALUES = 20;

/** Counts the types, tags and transports of a set of entries. Returns JSON: see `SearchFacets`. */
export async function facetsOf(columns: EntryColumns, found: Int32Array, inSteps: InSteps): Promise<string> {
  const { kinds, kindOf, tags, transports } = columns;
  const ofType = new Uint32Array(ENTRY_TYPE_NAMES.length);
  const ofKind = new Uint32Array(kinds.size);
  const { flags } = columns;
  // Like `forEachBit`, in a single loop: the result may have a million entries.
  const count = (from: number, to: number) => {
    for (let element = from; element < to; element += 1)
      for (let left = found[element] ?? 0; left !== 0; left &= left - 1) {
        const number = (element << 5) + 31 - Math.clz32(left & -left);
        const type = (flags[number] ?? 0) & TYPE_BITS;
        ofType[type] = (ofType[type] ?? 0) + 1;
        const kind = kindOf[number] ?? 0;
        ofKind[kind] = (ofKind[kind] ?? 0) + 1;
      }
  };
  await inSteps(found.length, count, ENTRIES_PER_STEP / 32);
  const ofTransport = new Uint32Array(transports.size);
  const ofTag = new Uint32Array(tags.size);
  const addKinds = (from: number, to: number) => {
    for (let kind = from; kind < to; kind += 1) {
      const count = ofKind[kind] ?? 0;
      if (count === 0) continue;
      const reader = kinds.reader(kind);
      for (const counters of [ofTransport, ofTag])
        for (let left = reader.next(); left > 0; left -= 1) {
          const value = reader.next();
          counters[value] = (counters[value] ?? 0) + count;
        }
    }
  };
  await inSteps(ofKind.length, addKinds, FACET_STEP);
  const type = await facetOf(ofType, (number) => ENTRY_TYPE_NAMES[number] ?? '', inSteps);
  const tag = await facetOf(ofTag, (number) => tags.text(number), inSteps);
  const transport = await facetOf(ofTransport, (number) => transports.text(number), inSteps);
  return `{"type":${type},"tag":${tag},"transport":${transport}}`;
}

interface Counted {
  readonly text: string;
  readonly bytes: Buffer;
  readonly count: number;
}

// Publishers choose the tags: there may be a million with the same count.
async function facetOf(
  counts: Uint32Array,
  text: (number: number) => string,
  inSteps: InSteps,
): Promise<string> {
  const largest: Counted[] = [];
  const add = (count: number, value: string) => {
    const last = largest.length === FACET_VALUES ? largest.at(-1) : undefined;
    const counted = { count, text: value, bytes: Buffer.from(value) };
    if (last && !comesBefore(counted, last)) return;
    const at = largest.findIndex((other) => comesBefore(counted, other));
    largest.splice(at < 0 ? largest.length : at, 0, counted);
    if (largest.length > FACET_VALUES) largest.pop();
  };
  const step = (from: number, to: number) => {
    for (let number = from; number < to; number += 1) {
      const count = counts[number] ?? 0;
      const least = largest.length === FACET_VALUES ? (largest.at(-1)?.count ?? 1) : 1;
      if (count >= least) add(count, text(number));
    }
  };
  await inSteps(counts.length, step, FACET_STEP);
  return `{${largest.map(({ text: value, count }) => `${JSON.stringify(value)}:${count}`).join()}}`;
}

/** The order of a facet: by count, then bytewise. */
function comesBefore(one: Counted, other: Counted): boolean {
  if (one.count !== other.count) return one.count > other.count;
  return Buffer.compare(one.bytes, other.bytes) < 0;
}
