import { toStorable } from '../database/columns.js';
import { checkDocument, formatProblem, type Problem, type SourceText } from '../documents/document-check.js';
import { ENTRY_TYPES, type EntryType, findName } from '../documents/entry-types.js';
import {
  type IncomingVersion,
  MAX_SHOWN_SKIPPED,
  type SkippedEntry,
  versionMapKey,
  type VersionName,
} from '../documents/incoming-version.js';
import type { Status } from '../documents/statuses.js';
import { isObject } from '../json/json-values.js';
import { type EntryFilter, passesFilter } from '../sources/entry-filter.js';

/** What is kept of a version beside its texts, by measurement: its objects, its digest, its places in maps. */
const BYTES_AROUND = 1_024;

/** A version of a source that is skipped, and why; `index` is its place in its list. */
export interface Skipped extends SkippedEntry {
  readonly index: number;
}

/** What a source holds, read and validated. */
export interface ReadEntries {
  readonly entries: IncomingVersion[];
  readonly skipped: Skipped[];
  /** How many were skipped beyond those that `skipped` lists. */
  readonly unlisted?: number;
  /** How many versions the filter excludes, valid or not. */
  readonly filtered: number;
}

/** One document of a source, to be validated. */
export interface Candidate {
  readonly type: EntryType;
  readonly index: number;
  /** Parsed; undefined or anything else when there is a `readProblem`. */
  readonly document: unknown;
  readonly written: SourceText;
  /** Why it could not even be parsed, or what is wrong around it. */
  readonly readProblem: Problem | null;
  /** What another registry adds to the document in `_meta`. */
  readonly upstreamMeta?: Pick<
    IncomingVersion,
    'statusMessage' | 'statusChangedAt' | 'publishedAt' | 'isUpstreamLatest'
  > & { readonly status?: Status };
}

interface ReaderOptions {
  /** For a name and version that comes again: the later one is skipped with this reason, or replaces the earlier one. */
  readonly onDuplicate: { readonly skipBecause: string } | 'replace';
  /** How many skipped versions are listed one by one; as many as are shown when absent. */
  readonly maxListed?: number;
  /** Is told of what is kept. */
  readonly memory: Memory;
  /** Takes the versions one by one, which are not among the result then. None comes twice. */
  readonly onEntry?: ((version: IncomingVersion) => void) | undefined;
}

/** What counts the bytes that are kept. */
export interface Memory {
  /** @throws Error when it is too much. */
  add(bytes: number): void;
}

/**
 * Validates the documents of one run: bad ones are skipped with their reasons; those that the filter excludes are only
 * counted. The same for every kind of source.
 */
export class EntryReader {
  skippedCount = 0;
  filtered = 0;
  /** Whether any document was valid, filtered or not: callers take a source without one for an accident. */
  hasValid = false;
  private readonly skipped: Skipped[] = [];
  /** Null: handed on already. */
  private readonly entries = new Map<string, IncomingVersion | null>();
  private readonly seen = new Set<string>();
  private readonly excluded = new Map<string, VersionName>();

  constructor(
    private readonly filter: EntryFilter | null,
    private readonly options: ReaderOptions,
  ) {}

  /** @returns whether it is a name and version that was not read before. */
  read({ type, index, document, written, readProblem, upstreamMeta }: Candidate): boolean {
    const checked = readProblem ? { problems: [readProblem] } : checkDocument(type, document, written);
    const version: IncomingVersion | undefined =
      'version' in checked && checked.version ? { ...checked.version, ...upstreamMeta } : undefined;
    const key = version && versionMapKey(version);
    const isDuplicate = key !== undefined && this.seen.has(key);
    if (key !== undefined) this.seen.add(key);
    if (version) this.hasValid = true;
    this.options.memory.add(
      BYTES_AROUND +
        (version?.document.length ?? 0) +
        heldBytes(version?.searchText ?? '') +
        2 * heldBytes(key ?? ''),
    );
    const { onDuplicate } = this.options;
    if (this.isFiltered(type, document)) {
      this.filtered += 1;
      this.exclude(type, document);
    } else if (!version || key === undefined) {
      this.skip(type, index, document, checked.problems.map(formatProblem));
      this.exclude(type, document);
    } else if (isDuplicate && onDuplicate !== 'replace')
      this.skip(type, index, document, [onDuplicate.skipBecause]);
    else {
      this.entries.set(key, this.options.onEntry ? null : version);
      this.options.onEntry?.(version);
      this.excluded.delete(key);
    }
    return !isDuplicate;
  }

  result(): ReadEntries {
    const { skipped, filtered } = this;
    const unlisted = this.skippedCount - skipped.length;
    const entries = [...this.entries.values()].filter((version) => version !== null);
    return { entries, skipped, filtered, ...(unlisted > 0 ? { unlisted } : {}) };
  }

  /** The versions that were read and are not among the entries, skipped or filtered, as far as they have a name. */
  excludedVersions(): VersionName[] {
    return [...this.excluded.values()];
  }

  private isFiltered(type: EntryType, document: unknown): boolean {
    if (!this.filter || !isObject(document)) return false;
    const name = findName(type, document);
    return name !== undefined && !passesFilter(this.filter, name, ENTRY_TYPES[type].tagsOf(document));
  }

  private skip(type: EntryType, index: number, document: unknown, reasons: string[]): void {
    this.skippedCount += 1;
    if (this.skipped.length >= (this.options.maxListed ?? MAX_SHOWN_SKIPPED)) return;
    const member = (key: string) => {
      const value: unknown = isObject(document) ? document[key] : undefined;
      // One with an overlong name is known by its index alone.
      return typeof value === 'string' && value.length <= 255 ? toStorable(value) : null;
    };
    this.skipped.push({
      type,
      index,
      name: member('name'),
      version: member('version'),
      reasons: reasons.map(toStorable),
    });
  }

  private exclude(type: EntryType, document: unknown): void {
    if (!isObject(document)) return;
    const { version } = document;
    const name = findName(type, document);
    if (name === undefined || typeof version !== 'string' || toStorable(name + version) !== name + version)
      return;
    const key = versionMapKey({ type, name, version });
    if (this.entries.has(key)) return;
    this.options.memory.add(2 * heldBytes(key));
    this.excluded.set(key, { type, name, version });
  }
}

// One character beyond Latin-1 makes all of a text twice as wide.
const WIDE = /[^\0-\xff]/;

function heldBytes(text: string): number {
  return WIDE.test(text) ? Buffer.byteLength(text) : text.length;
}
