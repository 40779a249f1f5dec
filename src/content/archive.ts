import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { crc32, createGunzip } from 'node:zlib';
import { extract } from 'tar-stream';
import { type Entry, getFileNameLowLevel, openPromise } from 'yauzl';
import { ApiError } from '../http/errors.js';
import { createTemporary, removeLeftovers } from '../limits/leftovers.js';
import type { IncomingFile } from './content-tree.js';
import { find, Folder } from './linked-files.js';
import { foldedName } from '../validation/folded-names.js';
import { windowsProblem } from './windows-names.js';

/** reference/content */
export const MAX_FILES = 2_048;
/** Maximum number of links followed in a row to reach a file or folder. */
const MAX_LINKS = 8;
export const MAX_PATH_BYTES = 512;
/**
 * Maximum number of files and folders in an archive, and maximum bytes of its headers: even these take time and memory.
 */
const MAX_ENTRIES = 4 * MAX_FILES;
const MAX_HEADER_BYTES = 8 * 1024 * 1024;
/** Maximum total characters of the paths kept in memory: those of all files, and of the folders that contain them. */
const MAX_PATHS_LENGTH = 2 * 1024 * 1024;

const TYPE_MASK = 0o170000;
const DIRECTORY = 0o040000;
const REGULAR_FILE = 0o100000;
const SYMBOLIC_LINK = 0o120000;
const EXECUTABLE = 0o111;

/** zip compression methods: stored and deflated. */
const ZIP_METHODS = [0, 8];

/** The flag of zip entries whose names are UTF-8. */
const UTF8 = 0x800;

/** reference/content: names that file managers add to folders, at any depth. */
const JUNK = /^(__MACOSX|\._.*|\.DS_Store|Thumbs\.db)$/;

const BIDIRECTIONAL = /[\u202a-\u202e\u2066-\u2069]/u;

/** The error for a refused archive (reference/content): 400 `invalid_archive`. */
function invalid(problem: string, path?: string): ApiError {
  const where = path === undefined ? '' : `${JSON.stringify(path.slice(0, 200))}: `;
  return new ApiError('invalid_archive', `The archive is not valid: ${where}${problem}`);
}

export function tooLarge(problem: string): ApiError {
  return new ApiError('content_too_large', `The content is too large: ${problem}`);
}

const FOLDER_PREFIX = 'registry-content-';
/** Must exceed the time to receive a body, and the time of a fetch including its wait for storage. */
const LEFTOVER_MS = 60 * 60_000;

/** Removes the folders left by killed servers. */
export function removeContentLeftovers(): Promise<void> {
  return removeLeftovers(FOLDER_PREFIX, LEFTOVER_MS);
}

/** Runs work with a folder that only this user can access, and removes it. */
export async function inTemporaryFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await createTemporary(FOLDER_PREFIX);
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/**
 * Unpacks a zip or tar.gz file, which it recognizes by the first bytes.
 *
 * @param archive its path.
 * @param unpacked receives the files.
 * @throws ApiError 400 `invalid_archive`, 413 `content_too_large`.
 */
export async function unpackArchive(archive: string, unpacked: UnpackedFiles): Promise<void> {
  const start = await firstBytes(archive, 4);
  if (start.readUInt16BE() === 0x1f8b) return unpackTarGz(createReadStream(archive), unpacked);
  if (['PK\u0003\u0004', 'PK\u0005\u0006'].includes(start.toString('latin1')))
    return unpackZip(archive, unpacked);
  throw invalid('it must be a zip or a tar.gz file');
}

/** The first bytes of a file, padded with zeros if it is shorter. */
async function firstBytes(path: string, count: number): Promise<Buffer> {
  const file = await open(path);
  try {
    const { buffer } = await file.read(Buffer.alloc(count), 0, count, 0);
    return buffer;
  } finally {
    await file.close();
  }
}

export function unpackTarGz(packed: Readable, unpacked: UnpackedFiles): Promise<void> {
  return unpackTar(packed, unpacked, [createGunzip()]);
}

export async function unpackTar(
  packed: Readable,
  unpacked: UnpackedFiles,
  through: Transform[] = [],
): Promise<void> {
  const entries = extract();
  const meter = new Meter(unpacked.maxBytes + MAX_HEADER_BYTES);
  const reading = pipeline([packed, ...through, meter, entries as unknown as NodeJS.WritableStream]);
  // The loop throws the same error, or a more specific one.
  reading.catch(() => undefined);
  try {
    for await (const entry of entries) {
      const { name, type, size, mode = 0, linkname } = entry.header;
      if (isJunk(name)) {
        entry.resume();
        continue;
      }
      if (type === 'directory') unpacked.addFolder(name);
      else if (type === 'symlink') unpacked.addLink(name, linkname ?? '');
      else if (type === 'file')
        await unpacked.addFile(name, (mode & EXECUTABLE) !== 0, Readable.from(entry), size);
      else throw invalid(`it is not a regular file, folder or symbolic link (${type})`, name);
      entry.resume();
    }
    await reading;
  } catch (error) {
    throw asInvalid(error);
  } finally {
    packed.destroy();
  }
}

async function unpackZip(archive: string, unpacked: UnpackedFiles): Promise<void> {
  try {
    // Names are decoded by `nameOf`.
    const zip = await openPromise(archive, { autoClose: false, decodeStrings: false });
    try {
      if (zip.entryCount > MAX_ENTRIES) throw tooLarge(`it has more than ${MAX_FILES} files`);
      for await (const entry of zip.eachEntry()) {
        const name = nameOf(entry);
        if (isJunk(name)) continue;
        const { type, mode } = checkZipEntry(entry, name);
        if (type === DIRECTORY) {
          unpacked.addFolder(name);
          continue;
        }
        const data = await zip.openReadStreamPromise(entry);
        if (type === SYMBOLIC_LINK) {
          const target = await linkTarget(data);
          if (crc32(target) !== entry.crc32) throw invalid('its checksum is wrong', name);
          unpacked.addLink(name, target.toString());
          continue;
        }
        const isExecutable = (mode & EXECUTABLE) !== 0;
        const sum = await unpacked.addFile(name, isExecutable, data, entry.uncompressedSize);
        if (sum !== entry.crc32) throw invalid('its checksum is wrong', name);
      }
    } finally {
      zip.close();
    }
  } catch (error) {
    throw asInvalid(error);
  }
}

/** reference/content: many programs, such as Finder, write UTF-8 without the flag. */
function nameOf(entry: Entry): string {
  const { generalPurposeBitFlag, fileNameRaw, extraFields } = entry;
  const flags = isUtf8(fileNameRaw) ? generalPurposeBitFlag | UTF8 : generalPurposeBitFlag;
  return getFileNameLowLevel(flags, fileNameRaw, extraFields, true);
}

/** Returns the type of the entry, and its Unix mode; 0 if it has none. */
function checkZipEntry(entry: Entry, name: string): { type: number; mode: number } {
  const { externalFileAttributes, compressionMethod, uncompressedSize } = entry;
  if (entry.isEncrypted()) throw invalid('it is encrypted', name);
  if (!ZIP_METHODS.includes(compressionMethod))
    throw invalid(`its compression method ${compressionMethod} is not supported`, name);
  const mode = externalFileAttributes >>> 16;
  const byName = name.endsWith('/') ? DIRECTORY : REGULAR_FILE;
  const type = mode & TYPE_MASK || byName;
  if (type !== byName && (type !== SYMBOLIC_LINK || byName === DIRECTORY))
    throw invalid('it is not a regular file, folder or symbolic link', name);
  if (type === DIRECTORY && uncompressedSize !== 0) throw invalid('a folder contains data', name);
  return { type, mode };
}

async function linkTarget(data: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of data as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > 2 * MAX_PATH_BYTES) throw tooLarge('a symbolic link is too long');
  }
  return Buffer.concat(chunks);
}

/** A library error means a broken archive; an operating system error does not. */
function asInvalid(error: unknown): unknown {
  if (error instanceof ApiError || !(error instanceof Error) || 'syscall' in error) return error;
  return invalid(error.message.slice(0, 200));
}

/** Counts and hashes the bytes that pass through, and stops at a limit. */
class Meter extends Transform {
  bytes = 0;
  checksum = 0;
  private readonly hash = createHash('sha256');

  constructor(private readonly maxBytes: number) {
    super();
  }

  get digest(): string {
    return this.hash.digest('hex');
  }

  override _transform(
    chunk: Buffer,
    _encoding: BufferEncoding,
    done: (error?: Error, data?: Buffer) => void,
  ) {
    this.bytes += chunk.length;
    this.checksum = crc32(chunk, this.checksum);
    this.hash.update(chunk);
    if (this.bytes > this.maxBytes)
      done(tooLarge('its files unpack to more than content.maxBytesPerVersion'));
    else done(undefined, chunk);
  }
}

/** The unpacked files of an archive, in a folder. Their names on disk are numbers, never names from the archive. */
export class UnpackedFiles {
  private readonly paths = new UniquePaths();
  private readonly files = new Map<string, IncomingFile>();
  /** The targets of symbolic links. */
  private readonly links = new Map<string, string>();
  private entries = 0;
  private bytes = 0;

  /**
   * @param folder exists, and is removed by the caller.
   * @param maxBytes limit for all files together.
   */
  constructor(
    private readonly folder: string,
    readonly maxBytes: number,
  ) {}

  addFolder(path: string): void {
    this.count();
    const name = checkedLength(path).replace(/\/+$/, '');
    if (name !== '' && name !== '.') this.paths.add(name, 'folder');
  }

  /**
   * Unpacks one file.
   *
   * @param size as the archive declares it.
   * @returns the CRC-32 of its bytes.
   */
  async addFile(path: string, executable: boolean, data: Readable, size = 0): Promise<number> {
    this.count();
    try {
      const known = this.paths.add(path, 'file');
      this.checkRoom(size);
      const meter = new Meter(this.maxBytes - this.bytes);
      const file = join(this.folder, String(this.files.size));
      await pipeline(data, meter, createWriteStream(file, { flags: 'wx' }));
      const { bytes, digest } = meter;
      this.keep({ path: known, digest, bytes, executable, open: () => createReadStream(file) });
      return meter.checksum;
    } finally {
      data.destroy();
    }
  }

  /** Records a symbolic link; `finish` replaces it with its target. */
  addLink(path: string, target: string): void {
    this.count();
    if (target.startsWith('/')) throw invalid('it is a symbolic link to an absolute path', path);
    this.links.set(this.paths.add(path, 'file'), checkedLength(target));
  }

  /**
   * Returns all files, without the archive's single top folder. A hidden top folder, such as `.claude-plugin`, is
   * content and is kept.
   *
   * @param keepsTop whether any other top folder is also kept.
   */
  finish({ keepsTop = false } = {}): IncomingFile[] {
    this.copyLinked();
    const all = [...this.files.values()];
    if (all.length === 0) throw invalid('it has no files');
    const [top = ''] = all[0]?.path.split('/', 1) ?? [];
    const isWrapped =
      !keepsTop && !top.startsWith('.') && all.every(({ path }) => path.startsWith(`${top}/`));
    const files = isWrapped ? all.map((file) => ({ ...file, path: file.path.slice(top.length + 1) })) : all;
    for (const { path } of files) if (Buffer.byteLength(path) > MAX_PATH_BYTES) throw tooLong(path);
    return files;
  }

  /** reference/content: stores a copy of each symbolic link's target. */
  private copyLinked(): void {
    const root = Folder.of<IncomingFile>([...this.files, ...this.links]);
    for (const path of this.links.keys()) this.copy(find(root, path, MAX_LINKS), path, []);
  }

  /** @param within the folders that are being copied. */
  private copy(
    found: IncomingFile | Folder<IncomingFile> | undefined,
    path: string,
    within: readonly Folder<IncomingFile>[],
  ): void {
    this.count();
    if (!found)
      throw invalid(
        `it is a symbolic link that leads to no file in the archive within ${MAX_LINKS} steps`,
        path,
      );
    if (!(found instanceof Folder)) {
      this.checkRoom(found.bytes);
      this.keep({ ...found, path: checkedLength(path) });
      return;
    }
    if (within.includes(found)) throw invalid('it is a symbolic link to a folder that contains it', path);
    for (const name of found.entries.keys())
      this.copy(find(found, name, MAX_LINKS), `${path}/${name}`, [...within, found]);
  }

  private checkRoom(bytes: number): void {
    if (this.files.size === MAX_FILES) throw tooLarge(`it has more than ${MAX_FILES} files`);
    if (bytes > this.maxBytes - this.bytes)
      throw tooLarge('its files unpack to more than content.maxBytesPerVersion');
  }

  private keep(file: IncomingFile): void {
    this.files.set(file.path, file);
    this.bytes += file.bytes;
  }

  private count(): void {
    this.entries += 1;
    if (this.entries > MAX_ENTRIES) throw tooLarge(`it has more than ${MAX_FILES} files`);
  }
}

/** Whether a file manager created this entry. */
export function isJunk(path: string): boolean {
  return checkedLength(path)
    .split('/')
    .some((segment) => JUNK.test(segment));
}

/** Refuses paths that leave their folder, and paths that some common file system treats as equal. */
class UniquePaths {
  /** The spelling and kind of each path and of each folder above it, by its folded form. */
  private readonly known = new Map<string, { readonly spelling: string; readonly kind: 'file' | 'folder' }>();
  private length = 0;

  /** @returns the path without a leading `./`. */
  add(given: string, kind: 'file' | 'folder'): string {
    const path = checkedLength(given).replace(/^(\.\/)+/, '');
    const segments = path.split('/');
    const problem = segments.map(segmentProblem).find((found) => found !== undefined);
    if (problem !== undefined) throw invalid(problem, path);
    let [spelling, key] = ['', ''];
    for (const [index, segment] of segments.entries()) {
      spelling += index === 0 ? segment : `/${segment}`;
      key += `/${foldedName(segment)}`;
      const at = index < segments.length - 1 ? 'folder' : kind;
      const other = this.known.get(key);
      if (other && (other.spelling !== spelling || other.kind !== at || at === 'file'))
        throw invalid(`it is the same file as ${JSON.stringify(other.spelling)} on some systems`, path);
      if (other) continue;
      this.length += key.length;
      if (this.length > MAX_PATHS_LENGTH) throw tooLarge('its paths are too long');
      this.known.set(key, { spelling, kind: at });
    }
    return path;
  }
}

/**
 * A path in an archive may be megabytes long and take hours to match. The limit is doubled because a single top folder
 * is removed.
 */
function checkedLength(path: string): string {
  if (path.length > 2 * MAX_PATH_BYTES || Buffer.byteLength(path) > 2 * MAX_PATH_BYTES) throw tooLong(path);
  return path;
}

function tooLong(path: string): ApiError {
  return tooLarge(`${JSON.stringify(path.slice(0, 50))}… has more than ${MAX_PATH_BYTES} bytes`);
}

/** Returns why a path segment does not work on every system; undefined if it does. */
function segmentProblem(segment: string): string | undefined {
  if (segment === '') return 'its path is absolute or has an empty segment';
  if (segment === '.' || segment === '..') return 'its path has a segment "." or ".."';
  if (/\p{Cc}/u.test(segment) || BIDIRECTIONAL.test(segment) || segment.includes('\ufffd'))
    return 'its path has a control character or is not UTF-8';
  // Windows treats it as a separator.
  if (segment.includes('\\')) return 'its path has a backslash';
  // On Windows, `.git` has a short name such as `git~1`.
  if (/^(\.git|git~\d)$/.test(foldedName(segment))) return 'its path has a segment ".git"';
  return windowsProblem(segment);
}
