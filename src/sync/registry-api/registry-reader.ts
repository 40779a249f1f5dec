import { createHash } from 'node:crypto';
import { type BareType, ENTRY_TYPES, type VersionName } from '../../documents/entry-types.js';
import { JsonSliceError, type Slice } from '../../json/json-slices.js';
import { isObject } from '../../json/json-values.js';
import { TimeSlice } from '../../json/time-slice.js';
import type { EntryFilter } from '../../sources/entry-filter.js';
import { type Candidate, EntryValidator, type ReadEntries } from '../entry-validator.js';
import { FetchError, MAX_BYTES, MAX_EMPTY_PAGES, MAX_VERSIONS } from '../fetcher.js';
import type { MemoryShare } from '../read-memory.js';
import { type Page, readBare, readServerItem } from './registry-page.js';

const MAX_LISTED = 1_000;
/** Memory per listed document, excluding the document itself. */
const BYTES_PER_LISTED = 256;

/**
 * The listed versions of one type without an envelope, such as skills. Most registries list the latest version of each
 * name; ToolHive lists all versions.
 */
class ListedEntries {
  /** True once a page contains several versions of one name, which means that the list shows all versions. */
  showsAllVersions = false;
  private readonly names = new Set<string>();
  private readonly versions = new Set<string>();
  /** Covers only the current page, because the latest version may change between pages. */
  private onPage = new Map<string, string>();

  beginPage(): void {
    this.onPage = new Map();
  }

  add(candidate: Candidate): void {
    const version = versionDigest(candidate);
    this.versions.add(version);
    const path = pathOf(candidate.document);
    if (path === null) return;
    this.names.add(path);
    if ((this.onPage.get(path) ?? version) !== version) this.showsAllVersions = true;
    this.onPage.set(path, version);
  }

  has(candidate: Candidate): boolean {
    return this.versions.has(versionDigest(candidate));
  }

  /** Returns the path of each name, relative to the list. */
  paths(): readonly string[] {
    return [...this.names];
  }
}

function pathOf(document: unknown): string | null {
  if (!isObject(document)) return null;
  const { namespace, name } = document;
  if (typeof namespace !== 'string' || typeof name !== 'string') return null;
  // A dot segment would leave the list's path.
  if (![namespace, name].every((segment) => /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(segment))) return null;
  return `${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

// Hashes the key, because names and texts can have any length. The text identifies a document without name or version.
function versionDigest({ document, written }: Candidate): string {
  const { namespace, name, version } = isObject(document) ? document : {};
  const parts = [namespace, name, version];
  const isNamed = parts.every((part) => typeof part === 'string');
  return createHash('sha256')
    .update(isNamed ? JSON.stringify(parts) : written.text)
    .digest()
    .toString('latin1');
}

/** Collects the entries of all pages of one run. */
export class RegistryReader {
  /** Number of versions. */
  count = 0;
  /** Whether every version has an `updatedAt`. */
  isDated = true;
  /** The earliest `updatedAt`. */
  oldest = Infinity;
  private readonly validator: EntryValidator;
  private readonly lists = new Map<BareType, ListedEntries>();
  private readonly slice = new TimeSlice();
  private bytes = 0;
  private emptyPages = 0;

  constructor(
    filter: EntryFilter | null,
    private readonly memory: MemoryShare,
  ) {
    // Entries may move between pages during a run, so a version can appear twice; the later copy is newer.
    this.validator = new EntryValidator(filter, { onDuplicate: 'replace', maxListed: MAX_LISTED, memory });
  }

  /**
   * Adds a page of servers.
   *
   * @throws FetchError
   */
  async addServers(page: Page): Promise<void> {
    await this.read(page, (element) => {
      const { candidate, updatedAt } = readServerItem(element, this.count);
      this.isDated &&= updatedAt !== null;
      this.oldest = Math.min(this.oldest, updatedAt ?? Infinity);
      return candidate;
    });
  }

  /**
   * Adds a page from the list of another type.
   *
   * @throws FetchError
   */
  async addListed(type: BareType, page: Page): Promise<void> {
    const listed = this.listedOf(type);
    listed.beginPage();
    this.memory.add(BYTES_PER_LISTED * page.elements.length);
    await this.read(page, (element) => {
      const candidate = readBare(type, element, this.count, true);
      listed.add(candidate);
      return candidate;
    });
  }

  /**
   * Adds a page with the versions of one name, except versions that are already in the list.
   *
   * @throws FetchError
   */
  async addVersions(type: BareType, page: Page): Promise<void> {
    const listed = this.listedOf(type);
    await this.read(page, (element) => {
      const candidate = readBare(type, element, this.count, false);
      return listed.has(candidate) ? null : candidate;
    });
  }

  /** Returns the paths of the names that may have unlisted versions, relative to the list. */
  namesWithUnlistedVersions(type: BareType): readonly string[] {
    const listed = this.listedOf(type);
    return listed.showsAllVersions ? [] : listed.paths();
  }

  private listedOf(type: BareType): ListedEntries {
    const listed = this.lists.get(type) ?? new ListedEntries();
    this.lists.set(type, listed);
    return listed;
  }

  content(): ReadEntries {
    return this.validator.result();
  }

  /** Returns the skipped and filtered versions, which must be removed from the source. */
  excluded(): VersionName[] {
    return this.validator.excludedVersions();
  }

  /**
   * Returns the content of a full run.
   *
   * @throws FetchError if no entry is valid, because syncing would remove all entries.
   */
  fullContent(): ReadEntries {
    const content = this.content();
    const [first] = content.skipped;
    if (!first || this.validator.hasValid) return content;
    const { type, index = 0, name, version, reasons } = first;
    const label = [name, version].filter((part) => part !== null && part !== '').join(' ');
    throw new FetchError(
      `None of the ${this.count} entries is valid; the first, ${ENTRY_TYPES[type].listKey}[${index}]` +
        `${label === '' ? '' : ` (${label})`}: ${reasons[0] ?? 'is not valid'}`,
    );
  }

  /** @param candidateOf returns null for a version that was already added. */
  private async read(
    { elements, nextCursor }: Page,
    candidateOf: (element: Slice) => Candidate | null,
  ): Promise<void> {
    let added = 0;
    for (const element of elements) {
      await this.slice.pause();
      const candidate = parseElement(element, candidateOf);
      if (!candidate) continue;
      if (this.validator.add(candidate)) added += 1;
      this.count += 1;
      this.bytes += element.bytes;
      if (this.count > MAX_VERSIONS)
        throw new FetchError(`The registry has more than ${MAX_VERSIONS} versions`);
      if (this.bytes > MAX_BYTES)
        throw new FetchError('The registry has more than 128 MiB of documents, the maximum');
    }
    this.emptyPages = added > 0 || nextCursor === null ? 0 : this.emptyPages + 1;
    if (this.emptyPages >= MAX_EMPTY_PAGES)
      throw new FetchError(
        `The registry's list does not end: ${MAX_EMPTY_PAGES} consecutive pages had nothing new`,
      );
  }
}

function parseElement(element: Slice, candidateOf: (element: Slice) => Candidate | null): Candidate | null {
  try {
    return candidateOf(element);
  } catch (error) {
    if (!(error instanceof JsonSliceError)) throw error;
    throw new FetchError(`A response of the registry is not valid JSON: ${error.message}`);
  }
}
