import type { IncomingVersion } from '../documents/incoming-version.js';
import { checkDocument, type Problem, sentenceOf, type Written } from '../documents/document-check.js';
import { ENTRY_TYPES, type EntryType, findName } from '../documents/entry-types.js';
import { isObject } from '../json/is-object.js';
import { type EntryFilter, passesFilter } from '../sources/entry-filter.js';
import type { VersionName } from './fetcher.js';

const MAX_TOLD = 500;

/** An entry of a source that is left out, and why. */
export interface Skipped {
  readonly type: EntryType;
  /** Its place in its list. */
  readonly index: number;
  readonly name: string | null;
  readonly version: string | null;
  readonly reasons: string[];
}

/** What a source holds, read and judged. */
export interface ReadEntries {
  readonly entries: IncomingVersion[];
  readonly skipped: Skipped[];
  /** How many more were skipped than are told of one by one. */
  readonly unlisted?: number;
  /** How many entries the filter left out, valid or not. */
  readonly filtered: number;
}

/** One document of a source, on its way to be judged. */
export interface Candidate {
  readonly type: EntryType;
  readonly index: number;
  /** Parsed; anything when it is `unread`. */
  readonly document: unknown;
  readonly written: Written;
  /** Why it was not even parsed, or what was wrong around it. */
  readonly unread: Problem | null;
  /** What another registry says of it. */
  readonly said?: Pick<IncomingVersion, 'statusMessage' | 'statusChangedAt' | 'publishedAt'> & {
    readonly status?: string;
  };
}

interface Reading {
  /** What becomes of the second of two with one name and version: it is skipped with this reason, or counts instead. */
  readonly second: { readonly skippedBecause: string } | 'counts';
  /** How many skipped entries are told of one by one; 500 when absent. */
  readonly maxTold?: number;
}

/**
 * Judges the documents of one run: bad ones are skipped with their reasons, what the filter leaves out is none of the
 * source's business. The same for every kind of source.
 */
export class EntryReader {
  /** How many were skipped. */
  skippedCount = 0;
  filtered = 0;
  /** The filter may leave out everything; that nothing at all is valid is for the caller to take for an accident. */
  foundValid = false;
  private readonly skipped: Skipped[] = [];
  private readonly entries = new Map<string, IncomingVersion>();
  private readonly seen = new Set<string>();
  private readonly out = new Map<string, VersionName>();

  constructor(
    private readonly filter: EntryFilter | null,
    private readonly reading: Reading,
  ) {}

  /** @returns whether it is a name and version that was not read before. */
  read({ type, index, document, written, unread, said }: Candidate): boolean {
    const checked = unread ? { problems: [unread] } : checkDocument(type, document, written);
    const version: IncomingVersion | undefined =
      'version' in checked && checked.version ? { ...checked.version, ...said } : undefined;
    const key = version && keyOf(version);
    const isSecond = key !== undefined && this.seen.has(key);
    if (key !== undefined) this.seen.add(key);
    if (version) this.foundValid = true;
    const { second } = this.reading;
    if (this.leavesOut(type, document)) {
      this.filtered += 1;
      this.leave(type, document);
    } else if (!version || key === undefined) {
      this.skip(type, index, document, checked.problems.map(sentenceOf));
      this.leave(type, document);
    } else if (isSecond && second !== 'counts') this.skip(type, index, document, [second.skippedBecause]);
    else {
      this.entries.set(key, version);
      this.out.delete(key);
    }
    return !isSecond;
  }

  result(): ReadEntries {
    const { skipped, filtered } = this;
    const unlisted = this.skippedCount - skipped.length;
    return { entries: [...this.entries.values()], skipped, filtered, ...(unlisted > 0 ? { unlisted } : {}) };
  }

  /** The versions that were read and are not among the entries, as far as they can be named. */
  leftOut(): VersionName[] {
    return [...this.out.values()];
  }

  private leavesOut(type: EntryType, document: unknown): boolean {
    if (!this.filter || !isObject(document)) return false;
    const name = findName(type, document);
    return name !== undefined && !passesFilter(this.filter, name, ENTRY_TYPES[type].tagsOf(document));
  }

  private skip(type: EntryType, index: number, document: unknown, reasons: string[]): void {
    this.skippedCount += 1;
    if (this.skipped.length >= (this.reading.maxTold ?? MAX_TOLD)) return;
    const told = (key: string) => {
      const value: unknown = isObject(document) ? document[key] : undefined;
      // What names itself at length, or with a NUL the database can't keep, goes by its index alone.
      return typeof value === 'string' && value.length <= 255 ? storable(value) : null;
    };
    const text = reasons.map(storable);
    this.skipped.push({ type, index, name: told('name'), version: told('version'), reasons: text });
  }

  private leave(type: EntryType, document: unknown): void {
    if (!isObject(document)) return;
    const { version } = document;
    const name = findName(type, document);
    if (name === undefined || typeof version !== 'string' || storable(name + version) !== name + version)
      return;
    const key = keyOf({ type, name, version });
    if (!this.entries.has(key)) this.out.set(key, { type, name, version });
  }
}

/** PostgreSQL's text and jsonb take neither NUL nor half a surrogate pair. */
export function storable(text: string): string {
  return text.replaceAll(/\0|\p{Surrogate}/gu, '\ufffd');
}

function keyOf({ type, name, version }: VersionName): string {
  return `${type}\0${name}\0${version}`;
}
