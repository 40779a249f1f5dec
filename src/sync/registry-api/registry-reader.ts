import { createHash } from 'node:crypto';
import { type BareType, ENTRY_TYPES } from '../../documents/entry-types.js';
import type { VersionName } from '../../documents/incoming-version.js';
import { JsonSliceError, type Slice } from '../../json/json-slices.js';
import { isObject } from '../../json/json-values.js';
import { TimeSlice } from '../../json/time-slice.js';
import type { EntryFilter } from '../../sources/entry-filter.js';
import { type Candidate, EntryReader, type ReadEntries } from '../entry-reader.js';
import { FetchError, MAX_BYTES, MAX_EMPTY_PAGES, MAX_VERSIONS } from '../fetcher.js';
import type { MemoryShare } from '../read-memory.js';
import { type Page, readBare, readServerItem } from './registry-page.js';

/**
 * What the list of all skills of a registry has shown, or of another type that is shown bare. Registries differ: most list the
 * latest version of each name, and ToolHive's lists every version.
 */
export class ListedEntries {
  /** Whether one page has held several versions of one name: then the list shows all there are. */
  showsAllVersions = false;
  private readonly names = new Set<string>();
  private readonly versions = new Set<string>();
  /** Of one page alone: while one goes from page to page, the latest version may become another one. */
  private onPage = new Map<string, string>();

  beginPage(): void {
    this.onPage = new Map();
  }

  add(candidate: Candidate): void {
    const version = versionOf(candidate);
    this.versions.add(version);
    const path = pathOf(candidate.document);
    if (path === null) return;
    this.names.add(path);
    if ((this.onPage.get(path) ?? version) !== version) this.showsAllVersions = true;
    this.onPage.set(path, version);
  }

  has(candidate: Candidate): boolean {
    return this.versions.has(versionOf(candidate));
  }

  /** Where below the list each name is, once. */
  paths(): readonly string[] {
    return [...this.names];
  }
}

function pathOf(document: unknown): string | null {
  if (!isObject(document)) return null;
  const { namespace, name } = document;
  if (typeof namespace !== 'string' || typeof name !== 'string') return null;
  // A step of dots would lead out of the list.
  if (![namespace, name].every((step) => /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(step))) return null;
  return `${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

// What has no name or version is known by its text. A digest: both may be of any length.
function versionOf({ document, written }: Candidate): string {
  const { namespace, name, version } = isObject(document) ? document : {};
  const parts = [namespace, name, version];
  const isNamed = parts.every((part) => typeof part === 'string');
  return createHash('sha256')
    .update(isNamed ? JSON.stringify(parts) : written.text)
    .digest()
    .toString('latin1');
}

const MAX_LISTED = 1_000;
/** What is kept of a document that was listed, beside it. */
const BYTES_PER_LISTED = 256;

/** What the pages of one run add up to. */
export class RegistryReader {
  /** Versions read. */
  count = 0;
  /** Whether each of them says when it was last changed. */
  isDated = true;
  /** The earliest of those times. */
  oldest = Infinity;
  private readonly reader: EntryReader;
  private readonly lists = new Map<BareType, ListedEntries>();
  private readonly slice = new TimeSlice();
  private bytes = 0;
  private emptyPages = 0;

  constructor(
    filter: EntryFilter | null,
    private readonly memory: MemoryShare,
  ) {
    // A version may come twice when pages move while they are read: the later one is the newer one.
    this.reader = new EntryReader(filter, { onDuplicate: 'replace', maxListed: MAX_LISTED, memory });
  }

  /** @throws FetchError */
  async servers(page: Page): Promise<void> {
    await this.read(page, (element) => {
      const { candidate, updatedAt } = readServerItem(element, this.count);
      this.isDated &&= updatedAt !== null;
      this.oldest = Math.min(this.oldest, updatedAt ?? Infinity);
      return candidate;
    });
  }

  /**
   * A page of the list of all skills, or of another type that is shown bare: of each its latest version, or in ToolHive's registry
   * every version.
   *
   * @throws FetchError
   */
  async list(type: BareType, page: Page): Promise<void> {
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
   * A page of the versions of one of them. Those that the list of all has shown were read with that.
   *
   * @throws FetchError
   */
  async versionsOfOne(type: BareType, page: Page): Promise<void> {
    const listed = this.listedOf(type);
    await this.read(page, (element) => {
      const candidate = readBare(type, element, this.count, false);
      return listed.has(candidate) ? null : candidate;
    });
  }

  /** Where below the list there may be versions that it has not shown: one path a name. */
  withUnlistedVersions(type: BareType): readonly string[] {
    const listed = this.listedOf(type);
    return listed.showsAllVersions ? [] : listed.paths();
  }

  private listedOf(type: BareType): ListedEntries {
    const listed = this.lists.get(type) ?? new ListedEntries();
    this.lists.set(type, listed);
    return listed;
  }

  content(): ReadEntries {
    return this.reader.result();
  }

  /** The versions that were read and may not be shown here, whatever was known of them before. */
  leftOut(): VersionName[] {
    return this.reader.excludedVersions();
  }

  /**
   * All there is. That nothing valid is, is taken for an accident, as with files: it would withdraw everything.
   *
   * @throws FetchError
   */
  everything(): ReadEntries {
    const content = this.content();
    const [first] = content.skipped;
    if (!first || this.reader.hasValid) return content;
    const { type, index, name, version, reasons } = first;
    const called = [name, version].filter((part) => part !== null && part !== '').join(' ');
    throw new FetchError(
      `None of the ${this.count} entries is valid; the first, ${ENTRY_TYPES[type].listKey}[${index}]` +
        `${called === '' ? '' : ` (${called})`}: ${reasons[0] ?? 'is not valid'}`,
    );
  }

  /** @param candidateOf null for what was read before. */
  private async read(
    { elements, nextCursor }: Page,
    candidateOf: (element: Slice) => Candidate | null,
  ): Promise<void> {
    let news = 0;
    for (const element of elements) {
      await this.slice.pause();
      const candidate = this.judgeable(element, candidateOf);
      if (!candidate) continue;
      if (this.reader.read(candidate)) news += 1;
      this.count += 1;
      this.bytes += element.bytes;
      if (this.count > MAX_VERSIONS)
        throw new FetchError(`The registry holds more than ${MAX_VERSIONS} versions`);
      if (this.bytes > MAX_BYTES)
        throw new FetchError('The registry holds more than 128 MiB of documents, the most that is read');
    }
    this.emptyPages = news > 0 || nextCursor === null ? 0 : this.emptyPages + 1;
    if (this.emptyPages >= MAX_EMPTY_PAGES)
      throw new FetchError(
        `The registry goes on without end: ${MAX_EMPTY_PAGES} pages in a row held nothing new`,
      );
  }

  private judgeable(element: Slice, candidateOf: (element: Slice) => Candidate | null): Candidate | null {
    try {
      return candidateOf(element);
    } catch (error) {
      if (!(error instanceof JsonSliceError)) throw error;
      throw new FetchError(`An answer of the registry is not valid JSON: ${error.message}`);
    }
  }
}
