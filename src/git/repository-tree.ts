/** Counts the memory that a run uses, and refuses to exceed its limit. */
export interface FileMemory {
  reserveForFile(bytes: number): void;
  add(bytes: number): void;
}

/** A file, folder, link or submodule of a commit. */
export interface TreeEntry {
  /** Path from the root of the repository, with "/"; empty for the root itself. */
  readonly path: string;
  readonly kind: 'file' | 'folder' | 'link' | 'submodule';
  /** The object ID of the blob or tree: equal IDs mean equal content. */
  readonly id: string;
  readonly isExecutable: boolean;
}

/** One commit of a Git repository, as formats see it. File contents are fetched when they are read. */
export interface RepositoryTree {
  /** The repository's address, without credentials. */
  readonly repository: string;
  readonly commit: string;

  /** Returns null if the commit has nothing at this path. */
  find(path: string): Promise<TreeEntry | null>;

  /**
   * Lists everything below a folder, at any depth, in the order of Git's trees: each folder before its contents.
   *
   * @throws FetchError if there is more than the limit.
   */
  list(folder: string, each: (entry: TreeEntry) => void): Promise<void>;

  /**
   * Reads files and link targets, in order, fetching all missing ones together. Yields null for a file of more than
   * `maxBytes`.
   *
   * @throws FetchError
   */
  read(
    files: readonly TreeEntry[],
    maxBytes: number,
    each: (file: TreeEntry, bytes: Buffer | null) => void | Promise<void>,
  ): Promise<void>;

  /**
   * Reads one file of up to the limit for registry files. Its memory is reserved before it is read.
   *
   * @throws FetchError
   * @throws ReadMemoryError
   */
  readWhole(file: TreeEntry, memory: FileMemory): Promise<{ bytes: Buffer; digest: Buffer }>;

  /** Works like `read` for files of any size. Skips any bytes that `each` leaves unread. */
  stream(
    files: readonly TreeEntry[],
    each: (file: TreeEntry, size: number, parts: AsyncIterable<Buffer>) => Promise<void>,
  ): Promise<void>;

  /** Fetches all files that are not local yet, in one request. */
  prefetch(files: readonly TreeEntry[]): Promise<void>;

  /** Removes the local copy. */
  close(): Promise<void>;
}
