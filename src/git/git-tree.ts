import { createHash } from 'node:crypto';
import { tooLargeSentence } from '../outbound/fetch-error.js';
import type { SettingsOf } from '../source-kinds/kinds.js';
import type { GitRemote } from './git-remote.js';

/** Maximum files, folders and links to list. */
const MAX_LISTED = 500_000;
/** Maximum files per request. */
const FILES_PER_FETCH = 5_000;
/** Exceeds the length of any path that Git stores. */
const MAX_LINE = 64 * 1024;

const LFS_POINTER = Buffer.from('version https://git-lfs.github.com/spec/');
/** A line of `ls-tree` output. */
const LISTED = /^(\d+) (\w+) ([0-9a-f]+)\t(.*)$/s;

/** Counts the memory that a run uses, and refuses to exceed its limit. */
interface FileMemory {
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

/**
 * A commit in the local copy of a repository, usually a partial one, whose file contents are fetched when they are
 * read.
 */
export class GitTree {
  private readonly fetched = new Set<string>();

  private constructor(
    private readonly remote: GitRemote,
    readonly commit: string,
    private readonly isPartial: boolean,
  ) {}

  /** Fetches the configured commit; `close` also closes the remote. */
  static async fetch(remote: GitRemote, settings: SettingsOf<'git'>): Promise<GitTree> {
    const { commit, isPartial } = await remote.fetchCommit(settings);
    return new GitTree(remote, commit, isPartial);
  }

  /** The repository's address, without credentials. */
  get repository(): string {
    return this.remote.url;
  }

  /** Removes the local copy. */
  close(): Promise<void> {
    return this.remote.close();
  }

  /** Returns null if the commit has nothing at this path. */
  async find(path: string): Promise<TreeEntry | null> {
    if (path === '') {
      const id = (await this.remote.text(['rev-parse', '--verify', `${this.commit}^{tree}`])).trim();
      return { path, kind: 'folder', id, isExecutable: false };
    }
    const args = ['ls-tree', '-z', '--full-tree', '--end-of-options', this.commit, path];
    const entry = entryOf(await this.remote.text(args), '');
    return entry?.path === path ? entry : null;
  }

  /**
   * Lists everything below a folder, at any depth, in the order of Git's trees: each folder before its contents.
   *
   * @throws FetchError if it contains more than the limit.
   */
  async list(folder: string, each: (entry: TreeEntry) => void): Promise<void> {
    const below = folder === '' ? '' : `${folder}/`;
    const root = folder === '' ? this.commit : `${this.commit}:${folder}`;
    let count = 0;
    await this.remote.stream(
      ['ls-tree', '-r', '-t', '-z', '--full-tree', '--end-of-options', root],
      async (output) => {
        for await (const line of linesOf(output)) {
          count += 1;
          if (count > MAX_LISTED)
            throw this.remote.failure(`it has more than ${MAX_LISTED} files: set git.path to a folder`);
          const entry = entryOf(line, below);
          if (entry) each(entry);
        }
      },
    );
  }

  /** Fetches all files that are not local yet, in few requests. */
  private async prefetch(files: readonly TreeEntry[]): Promise<void> {
    if (!this.isPartial) return;
    const missing = [...new Set(files.map(({ id }) => id))].filter((id) => !this.fetched.has(id));
    for (let from = 0; from < missing.length; from += FILES_PER_FETCH) {
      const ids = missing.slice(from, from + FILES_PER_FETCH);
      await this.remote.fetchObjects(ids);
      for (const id of ids) this.fetched.add(id);
    }
  }

  /**
   * Reads files and link targets, in order, fetching all missing ones together. Yields null for a file of more than
   * `maxBytes`.
   *
   * @throws FetchError
   */
  async read(
    files: readonly TreeEntry[],
    maxBytes: number,
    each: (file: TreeEntry, bytes: Buffer | null) => void | Promise<void>,
  ): Promise<void> {
    await this.stream(files, async (file, size, parts) => {
      if (size > maxBytes) return each(file, null);
      const bytes: Buffer[] = [];
      for await (const part of parts) bytes.push(part);
      await each(file, Buffer.concat(bytes, size));
    });
  }

  /** Works like `read` for files of any size. Skips any bytes that `each` leaves unread. */
  async stream(
    files: readonly TreeEntry[],
    each: (file: TreeEntry, size: number, parts: AsyncIterable<Buffer>) => Promise<void>,
  ): Promise<void> {
    if (files.length === 0) return;
    await this.prefetch(files);
    await this.remote.stream(
      ['cat-file', '--batch', '--buffer'],
      async (output) => {
        const reader = new BatchReader(output);
        for (const file of files) {
          const size = await reader.next(file.id);
          if (size === undefined) throw this.remote.failure(`its server did not send ${file.path}`);
          await each(file, size, reader.parts());
        }
        await reader.end();
      },
      { input: files.map(({ id }) => `${id}\n`).join('') },
    );
  }

  /**
   * Reads one file, up to the size limit for registry files. Reserves its memory first.
   *
   * @throws FetchError
   * @throws ReadMemoryError
   */
  async readWhole({ id, path }: TreeEntry, memory: FileMemory): Promise<{ bytes: Buffer; digest: Buffer }> {
    const { fileBytes } = this.remote.limits;
    if (this.isPartial) await this.remote.fetchObjects([id]);
    const size = Number(await this.remote.text(['cat-file', '-s', id]));
    if (size > fileBytes) throw this.remote.failure(tooLargeSentence(path, fileBytes));
    memory.reserveForFile(size);
    memory.add(size);
    const bytes = Buffer.allocUnsafeSlow(size);
    const hash = createHash('sha256');
    let length = 0;
    await this.remote.stream(['cat-file', 'blob', id], async (output) => {
      for await (const chunk of output) {
        if (length + chunk.length > size) break;
        chunk.copy(bytes, length);
        hash.update(chunk);
        length += chunk.length;
      }
    });
    if (length !== size) throw this.remote.failure(`its server did not send ${path}`);
    if (isLfsPointer(bytes))
      throw this.remote.failure(`${path} is stored in Git LFS, which is not supported`);
    return { bytes, digest: hash.digest() };
  }
}

/** Whether the file's content is stored in Git LFS. */
function isLfsPointer(bytes: Buffer): boolean {
  return bytes.subarray(0, LFS_POINTER.length).equals(LFS_POINTER);
}

/** @param below the folder that was listed, with a trailing "/"; empty for the root. */
function entryOf(listed: string, below: string): TreeEntry | null {
  const [, mode, type, id, name] = LISTED.exec(listed.replace(/\0$/, '')) ?? [];
  if (id === undefined || name === undefined) return null;
  const kind =
    type === 'tree' ? 'folder' : type === 'commit' ? 'submodule' : mode === '120000' ? 'link' : 'file';
  return { path: `${below}${name}`, kind, id, isExecutable: mode === '100755' };
}

/** Splits output after each NUL. */
async function* linesOf(output: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of output) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let from = 0;
    for (let to = bytes.indexOf(0); to >= 0; to = bytes.indexOf(0, from)) {
      yield bytes.toString('utf8', from, to);
      from = to + 1;
    }
    rest = bytes.subarray(from);
    if (rest.length > MAX_LINE) throw new Error('Git printed a line without an end');
  }
}

/** Reads the output of `git cat-file --batch`: for each object a line `id type size`, its bytes, and a line break. */
class BatchReader {
  private readonly output: AsyncIterator<Buffer>;
  private rest: Buffer = Buffer.alloc(0);
  /** Bytes of the current object that have not been read. */
  private left = 0;
  private isFirst = true;

  constructor(output: AsyncIterable<Buffer>) {
    this.output = output[Symbol.asyncIterator]();
  }

  /**
   * Skips the rest of the current object. Returns the size of the next one; undefined if it is not the blob with this
   * ID.
   */
  async next(id: string): Promise<number | undefined> {
    if (!this.isFirst) {
      for (let part = await this.part(); part; part = await this.part());
      if (this.rest.length === 0) await this.more();
      this.rest = this.rest.subarray(1);
    }
    this.isFirst = false;
    while (!this.rest.includes('\n')) if (!(await this.more())) return undefined;
    const end = this.rest.indexOf('\n');
    const [found, type, size] = this.rest.toString('latin1', 0, end).split(' ');
    this.rest = this.rest.subarray(end + 1);
    if (found !== id || type !== 'blob') return undefined;
    this.left = Number(size);
    return this.left;
  }

  /** The bytes of the current object. */
  async *parts(): AsyncGenerator<Buffer> {
    for (let part = await this.part(); part; part = await this.part()) yield part;
  }

  /** Reads to the end, so that git exits normally. */
  async end(): Promise<void> {
    do this.rest = Buffer.alloc(0);
    while (await this.more());
  }

  private async part(): Promise<Buffer | undefined> {
    if (this.left === 0) return undefined;
    if (this.rest.length === 0 && !(await this.more())) throw new Error('Git ended before its output did');
    const part = this.rest.subarray(0, this.left);
    this.rest = this.rest.subarray(part.length);
    this.left -= part.length;
    return part;
  }

  private async more(): Promise<boolean> {
    const { value, done } = await this.output.next();
    if (done === true) return false;
    this.rest = this.rest.length === 0 ? value : Buffer.concat([this.rest, value]);
    return true;
  }
}
