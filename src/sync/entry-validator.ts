import {
  checkDocument,
  formatProblem,
  type DocumentProblem,
  type SyncedText,
} from '../documents/document-check.js';
import {
  ENTRY_TYPES,
  type EntryType,
  findName,
  type IncomingVersion,
  MAX_SHOWN_SKIPPED,
  type SkippedVersion,
  versionMapKey,
  type VersionName,
} from '../documents/entry-types.js';
import type { Status } from '../documents/statuses.js';
import { isObject, member } from '../json/json-values.js';
import { type StoredFilter, passesFilter } from '../sources/entry-filter.js';
import { isStorable, toStorable } from '../validation/storable-text.js';

/** Measured overhead per version for objects, the digest and map entries, excluding texts. */
const BYTES_PER_VERSION = 1_024;
/** Characters of a path in a reason: a source may have 500 of these, 4 KiB each. */
const MAX_SHOWN_PATH = 200;

/** The validated content of a source. */
export interface ReadEntries {
  readonly entries: readonly IncomingVersion[];
  readonly skipped: readonly SkippedVersion[];
  /** Number of skipped versions omitted from `skipped`. */
  readonly unlisted?: number;
  /** Number of versions excluded by the filter, valid or not. */
  readonly filtered: number;
}

/** One document of a source, not yet checked. */
export interface UncheckedDocument {
  readonly type: EntryType;
  readonly index: number;
  /** The parsed document; meaningless if `readProblem` is set. */
  readonly document: unknown;
  readonly written: SyncedText;
  /** Why the document or the list item around it could not be read. */
  readonly readProblem: DocumentProblem | null;
  /** The path of its file or folder, if the source has several; shown before the reasons. */
  readonly path?: string;
  /** Metadata that another registry adds in `_meta`. */
  readonly upstreamMeta?: Pick<
    IncomingVersion,
    'statusMessage' | 'statusChangedAt' | 'publishedAt' | 'isUpstreamLatest'
  > & { readonly status?: Status };
}

interface ValidatorOptions {
  /** Whether a version with the same type, name and version is skipped for this reason or replaces the earlier one. */
  readonly onDuplicate: { readonly skipBecause: string } | 'replace';
  /** Maximum number of skipped versions to list; defaults to the number shown by the API. */
  readonly maxListed?: number;
  readonly memory: MemoryCounter;
  /** Receives each version once; if set, the result contains no entries. */
  readonly onEntry?: ((version: IncomingVersion) => void) | undefined;
}

/** The result of checking a document by itself; it can be passed between threads. */
export interface CheckedCandidate {
  readonly type: EntryType;
  readonly index: number;
  /** The same as in `UncheckedDocument`. */
  readonly path?: string | undefined;
  /** Null if the document is invalid. */
  readonly version: IncomingVersion | null;
  /** Why it is invalid. */
  readonly reasons: readonly string[];
  readonly isFiltered: boolean;
  /** Name and version to show for a skipped document; null if it has none. */
  readonly shown: Pick<SkippedVersion, 'name' | 'version'>;
  /** Null for a document without a name or version that could be stored. */
  readonly identity: VersionName | null;
}

/** Checks a document by itself, for every kind of source. */
export function checkCandidate(
  { type, index, document, written, readProblem, path, upstreamMeta }: UncheckedDocument,
  filter: StoredFilter | null,
): CheckedCandidate {
  const checked = readProblem ? { problems: [readProblem] } : checkDocument(type, document, written);
  const version = 'version' in checked && checked.version ? { ...checked.version, ...upstreamMeta } : null;
  const reasons = checked.problems.map((problem) => inFile(path, formatProblem(problem)));
  // A version with an overlong name is identified by its index only.
  const shown = (key: string) => {
    const value = member(document, key);
    return typeof value === 'string' && value.length <= 255 ? toStorable(value) : null;
  };
  return {
    type,
    index,
    path,
    version,
    reasons,
    isFiltered: isFiltered(type, document, filter),
    shown: { name: shown('name'), version: shown('version') },
    identity: identityOf(type, document),
  };
}

function isFiltered(type: EntryType, document: unknown, filter: StoredFilter | null): boolean {
  if (!filter || !isObject(document)) return false;
  const name = findName(type, document);
  return name !== undefined && !passesFilter(filter, name, ENTRY_TYPES[type].tagsOf(document));
}

function identityOf(type: EntryType, document: unknown): VersionName | null {
  if (!isObject(document)) return null;
  const { version } = document;
  const name = findName(type, document);
  return name !== undefined && typeof version === 'string' && isStorable(name + version)
    ? { type, name, version }
    : null;
}

/** Counts the bytes that a run holds in memory. */
export interface MemoryCounter {
  /** @throws Error if the limit is exceeded. */
  add(bytes: number): void;
}

/**
 * Collects the valid documents of one run, for every kind of source. Reports why it skips each invalid document, and only
 * counts the documents excluded by the filter.
 */
export class EntryValidator {
  skippedCount = 0;
  filtered = 0;
  /**
   * Whether any document was valid, even if it was filtered. Callers treat a source without valid documents as a
   * mistake.
   */
  hasValid = false;
  private readonly skipped: SkippedVersion[] = [];
  /** A value is null if the version has already been passed to `onEntry`. */
  private readonly entries = new Map<string, IncomingVersion | null>();
  private readonly seen = new Set<string>();
  private readonly excluded = new Map<string, VersionName>();

  constructor(
    private readonly filter: StoredFilter | null,
    private readonly options: ValidatorOptions,
  ) {}

  /** @returns false if the same version has already been added. */
  add(candidate: UncheckedDocument): boolean {
    return this.collect(checkCandidate(candidate, this.filter));
  }

  /** Works like `add` for a document that was checked with the same filter. */
  collect(checked: CheckedCandidate): boolean {
    const { version } = checked;
    const key = version ? versionMapKey(version) : undefined;
    const isDuplicate = key !== undefined && this.seen.has(key);
    if (key !== undefined) this.seen.add(key);
    if (version) this.hasValid = true;
    this.options.memory.add(
      BYTES_PER_VERSION +
        (version?.document.length ?? 0) +
        Buffer.byteLength(version?.searchText ?? '') +
        2 * Buffer.byteLength(key ?? ''),
    );
    const { onDuplicate } = this.options;
    if (checked.isFiltered) {
      this.filtered += 1;
      this.exclude(checked);
    } else if (!version || key === undefined) {
      this.skip(checked, checked.reasons);
      this.exclude(checked);
    } else if (isDuplicate && onDuplicate !== 'replace')
      this.skip(checked, [inFile(checked.path, onDuplicate.skipBecause)]);
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

  /** Returns the skipped and filtered versions that have a name. */
  excludedVersions(): VersionName[] {
    return [...this.excluded.values()];
  }

  /**
   * Returns the sentence for content whose documents are all invalid; null if any is valid, or there are none.
   *
   * @param parent the path prefix of the lists, such as `data.`.
   */
  noneIsValid(parent = ''): string | null {
    const [first] = this.skipped;
    if (!first || this.hasValid) return null;
    const { type, index, name, version, reasons } = first;
    const place = index === undefined ? '' : `, ${parent}${ENTRY_TYPES[type].listKey}[${index}]`;
    const label = [name, version].filter((part) => part !== null && part !== '').join(' ');
    return (
      `None of the ${this.skippedCount + this.filtered} entries is valid; the first${place}` +
      `${label === '' ? '' : ` (${label})`}: ${reasons[0] ?? 'is not valid'}`
    );
  }

  private skip({ type, index, path, shown }: CheckedCandidate, reasons: readonly string[]): void {
    this.skippedCount += 1;
    if (this.skipped.length < (this.options.maxListed ?? MAX_SHOWN_SKIPPED))
      this.skipped.push({
        type,
        ...(path === undefined ? { index } : {}),
        ...shown,
        reasons: [...reasons],
      });
  }

  private exclude({ identity }: CheckedCandidate): void {
    if (!identity) return;
    const key = versionMapKey(identity);
    if (this.entries.has(key)) return;
    this.options.memory.add(2 * Buffer.byteLength(key));
    this.excluded.set(key, identity);
  }
}

/** Precedes the reason with the end of the path. */
function inFile(path: string | undefined, reason: string): string {
  if (path === undefined) return toStorable(reason);
  const end = path.length > MAX_SHOWN_PATH ? `…${path.slice(-MAX_SHOWN_PATH)}` : path;
  return toStorable(`${end}: ${reason}`);
}
