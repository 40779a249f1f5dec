import { ENTRY_TYPE_NAMES, type EntryType } from '../../documents/entry-types.js';
import { type EntryColumns, IS_INSTALLABLE } from './entry-columns.js';
import { bytesOf } from './text-table.js';
import { once } from './word-match.js';

interface Filter {
  readonly type?: EntryType;
  readonly tag?: string;
  readonly transport?: string;
  readonly publisher?: string;
  readonly installable?: boolean;
}

/** Returns a test of entries by number, or `all` or `none` if every entry has the same result. */
export function entryFilter(
  columns: EntryColumns,
  { type, installable, publisher, ...kind }: Filter,
): 'all' | 'none' | ((number: number) => boolean) {
  const { kinds, flags, kindOf } = columns;
  const tag = kind.tag === undefined ? undefined : columns.tags.find(kind.tag);
  const transport = kind.transport === undefined ? undefined : columns.transports.find(kind.transport);
  if (tag === -1 || transport === -1) return 'none';
  const tests: ((number: number) => boolean)[] = [];
  if (type !== undefined) {
    const typeNumber = ENTRY_TYPE_NAMES.indexOf(type);
    tests.push((number) => columns.typeNumberOf(number) === typeNumber);
  }
  if (installable !== undefined)
    tests.push((number) => (((flags[number] ?? 0) & IS_INSTALLABLE) !== 0) === installable);
  if (publisher !== undefined) {
    const beginning = bytesOf(`${publisher}/`);
    tests.push((number) => columns.nameBeginsWith(number, beginning));
  }
  if (tag !== undefined || transport !== undefined) {
    const passes = once(kinds.size, (number) => {
      const reader = kinds.reader(number);
      return reader.groupHas(transport) && reader.groupHas(tag);
    });
    tests.push((number) => passes(kindOf[number] ?? 0));
  }
  const [first, ...others] = tests;
  if (!first) return 'all';
  return others.length === 0 ? first : (number) => tests.every((test) => test(number));
}
