import { type BareType, ENTRY_TYPES } from '../../documents/entry-types.js';
import type { VersionName } from '../../documents/incoming-version.js';
import { JsonSliceError, type Slice } from '../../json/json-slices.js';
import { TimeSlice } from '../../json/time-slice.js';
import type { EntryFilter } from '../../sources/entry-filter.js';
import { type Candidate, EntryReader, type ReadEntries } from '../entry-reader.js';
import { FetchError } from '../fetcher.js';
import type { MemoryShare } from '../memory/read-memory.js';
import { MAX_BYTES, MAX_EMPTY_PAGES, MAX_VERSIONS } from '../upstream-limits.js';
import { ListedEntries } from './listed-entries.js';
import { type Page, readBare, readServerItem } from './registry-page.js';

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
