import type { VersionFolder } from '../../content/version-folder.js';
import type { VersionName } from '../../documents/entry-types.js';
import type { GitTree, TreeEntry } from '../../git/git-tree.js';
import type { SourceFormat } from '../../source-kinds/source-formats.js';
import type { StoredFilter } from '../../sources/entry-filter.js';
import type { EntryValidator, ReadEntries } from '../entry-validator.js';
import type { FetchState } from '../fetcher.js';
import type { MemoryShare } from '../read-memory.js';

/** The validated content of a source. */
export interface FormatContent extends ReadEntries {
  /** The folders of versions whose content is in the source's own repository, by `versionMapKey`. */
  readonly folders?: ReadonlyMap<string, VersionFolder>;
  /** Whether a lookup in another repository failed, so that the next sync must repeat it. */
  readonly isIncomplete?: boolean;
}

/** The content of a source, in any format. */
export type SourceContent =
  /** Nothing has changed since the previous state. */
  | { readonly kind: 'unchanged'; readonly state: FetchState }
  | {
      readonly kind: 'content';
      readonly content: FormatContent;
      /** The versions removed from the source if `content` contains only changes; null if `content` is complete. */
      readonly gone: readonly VersionName[] | null;
      readonly state: FetchState;
      /** Null for kinds without formats. */
      readonly format: SourceFormat | null;
    };

/** The settings that decide how a source is read. */
export interface FormatSettings {
  /** Null to detect the format. */
  readonly format: SourceFormat | null;
  readonly namespace: string | null;
  readonly filter: StoredFilter | null;
}

/** The formats that a single JSON file can have. */
export type JsonFormat = Exclude<SourceFormat, 'skills'>;

/**
 * Reads a JSON file in one format.
 *
 * @param text UTF-8 without a byte order mark.
 * @throws FormatError
 * @throws ReadMemoryError
 */
export type JsonReader = (text: Buffer, validator: EntryValidator, settings: FormatSettings) => void;

/** The formats of folders, and of files that describe one. */
export type FolderFormat = Exclude<SourceFormat, 'registry'>;

/** The context for readers that derive documents from skills and plugins. */
export interface DerivedRead extends FormatSettings {
  readonly memory: MemoryShare;
  readonly signal: AbortSignal;
  /** The commits of folders that have not changed since their content was stored, by `VersionFolder.key`. */
  readonly commits: ReadonlyMap<string, string>;
  readonly refs: RefResolver;
}

/** A folder of a repository, or the file that describes one, such as a marketplace. */
export interface FolderRead extends DerivedRead {
  readonly tree: GitTree;
  /** The folder or file that was configured or found. */
  readonly at: TreeEntry;
}

/** Finds the commits of tags and branches in other repositories. */
interface RefResolver {
  /** Whether content, and therefore commits, may be fetched from the host of this URL. */
  isListed(url: string): boolean;

  /**
   * @param ref a tag or branch; undefined for the default branch.
   * @throws FetchError
   */
  resolve(url: string, ref: string | undefined, signal: AbortSignal): Promise<string>;
}

/**
 * Reads a folder in one format.
 *
 * @throws FormatError if the folder as a whole is malformed, or none of its entries is valid.
 * @throws FetchError
 * @throws ReadMemoryError
 */
export type FolderReader = (read: FolderRead) => Promise<FormatContent>;

/** A source cannot be read in its format. The message is for the operator. */
export class FormatError extends Error {}
