import type { BareType, VersionName } from '../../documents/entry-types.js';
import { pauseIfDue } from '../../limits/time-slice.js';
import { FetchError } from '../../outbound/fetch-error.js';
import type { StoredFilter } from '../../sources/entry-filter.js';
import { type CheckedCandidate, EntryValidator, type ReadEntries } from '../entry-validator.js';
import type { MemoryShare } from '../read-memory.js';
import type { UpstreamVersion, Page } from './registry-page.js';

const MAX_VERSIONS = 500_000;
/** Maximum total size of all documents. */
const MAX_BYTES = 128 * 1024 * 1024;
/** A list is considered endless after this many consecutive pages without a new version. */
const MAX_EMPTY_PAGES = 100;
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

  add({ path, key }: UpstreamVersion): void {
    this.versions.add(key);
    if (path === null) return;
    this.names.add(path);
    if ((this.onPage.get(path) ?? key) !== key) this.showsAllVersions = true;
    this.onPage.set(path, key);
  }

  has({ key }: UpstreamVersion): boolean {
    return this.versions.has(key);
  }

  /** Returns the path of each name, relative to the list. */
  paths(): readonly string[] {
    return [...this.names];
  }
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
  private bytes = 0;
  private emptyPages = 0;

  constructor(
    filter: StoredFilter | null,
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
    await this.read(page, ({ checked, updatedAt }) => {
      this.isDated &&= updatedAt !== null;
      this.oldest = Math.min(this.oldest, updatedAt ?? Infinity);
      return checked;
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
    this.memory.add(BYTES_PER_LISTED * page.versions.length);
    await this.read(page, (each) => {
      listed.add(each);
      const { version } = each.checked;
      return { ...each.checked, version: version && { ...version, isUpstreamLatest: true } };
    });
  }

  /**
   * Adds a page with the versions of one name, except versions that are already in the list.
   *
   * @throws FetchError
   */
  async addVersions(type: BareType, page: Page): Promise<void> {
    const listed = this.listedOf(type);
    await this.read(page, (each) => (listed.has(each) ? null : each.checked));
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
    const none = this.validator.noneIsValid();
    if (none !== null) throw new FetchError(none);
    return this.content();
  }

  /** @param checkedOf returns null for a version that was already added. */
  private async read(
    { versions, nextCursor }: Page,
    checkedOf: (version: UpstreamVersion) => CheckedCandidate | null,
  ): Promise<void> {
    let added = 0;
    for (const each of versions) {
      await pauseIfDue();
      const checked = checkedOf(each);
      if (!checked) continue;
      if (this.validator.collect({ ...checked, index: this.count })) added += 1;
      this.count += 1;
      this.bytes += each.bytes;
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
