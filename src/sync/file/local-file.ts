import { createHash } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { open, realpath, stat } from 'node:fs/promises';
import type { LimitsConfig } from '../../config/config.js';
import type { Origin } from '../../sources/source.entity.js';
import { FetchError } from '../fetcher.js';
import { ReadMemoryError } from '../read-memory.js';

const MIB = 1024 * 1024;
/** What the sources of the configuration may read, unless `limits.mebibytesPerFile` says otherwise; others never more (contract §7). */
export const DEFAULT_MAX_BYTES = 64 * MIB;

/** The most that is read of one registry file of a source. */
export function maxFileBytes(limits: Pick<LimitsConfig, 'mebibytesPerFile'>, origin: Origin): number {
  const bytes = limits.mebibytesPerFile * MIB;
  return origin === 'config' ? bytes : Math.min(bytes, DEFAULT_MAX_BYTES);
}

export function tooLargeSentence(what: string, maxBytes: number): string {
  return `${what} is larger than ${maxBytes / MIB} MiB, the most that is read`;
}

/** Digested without a pause: less than a millisecond. */
const CHUNK_BYTES = 1024 * 1024;

export interface LocalFile {
  readonly bytes: Buffer;
  /** SHA-256 of the bytes. */
  readonly digest: Buffer;
}

export interface ReadFileOptions {
  readonly maxBytes?: number;
  /** The path was judged without symbolic links: it is not read by way of one. */
  readonly hasNoLinks?: true;
  /** Told of the size, in bytes, before anything is read; what it throws ends the reading. */
  readonly onSize?: ((bytes: number) => void) | undefined;
}

/**
 * Reads a catalogue file: a regular file of at most 64 MiB (contract §7), or of another limit. Read and digested chunk by chunk, so that a
 * large file does not hold the event loop up.
 *
 * @throws FetchError with a sentence that names the path and the cause.
 */
export async function readLocalFile(path: string, options: ReadFileOptions = {}): Promise<LocalFile> {
  // Non-blocking, because opening a named pipe would otherwise wait for a writer.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(
    (error: NodeJS.ErrnoException) => {
      throw new FetchError(`${path} could not be opened: ${reasonOf(error)}`);
    },
  );
  try {
    const found = await file.stat();
    if (options.hasNoLinks) await checkOpened(path, found);
    if (!found.isFile()) throw new FetchError(`${path} is not a regular file`);
    const { maxBytes = DEFAULT_MAX_BYTES } = options;
    if (found.size > maxBytes) throw new FetchError(tooLargeSentence(path, maxBytes));
    options.onSize?.(found.size);
    // Read to its place at once: putting chunks together would copy the whole file in one go.
    const bytes = Buffer.allocUnsafeSlow(found.size);
    const hash = createHash('sha256');
    let chunk = bytes.subarray(0, 0);
    for (let read = 0; read < bytes.length; read += chunk.length) {
      const reading = file.read(bytes, read, Math.min(CHUNK_BYTES, bytes.length - read), read);
      // The chunk before, while this one is read.
      hash.update(chunk);
      const { bytesRead } = await reading;
      if (bytesRead === 0) throw new FetchError(`${path} became shorter while it was read`);
      chunk = bytes.subarray(read, read + bytesRead);
    }
    hash.update(chunk);
    const { bytesRead: more } = await file.read(Buffer.alloc(1), 0, 1, bytes.length);
    if (more > 0) throw new FetchError(`${path} became longer while it was read`);
    return { bytes, digest: hash.digest() };
  } catch (error) {
    if (error instanceof FetchError || error instanceof ReadMemoryError) throw error;
    throw new FetchError(`${path} could not be read: ${reasonOf(error as NodeJS.ErrnoException)}`);
  } finally {
    await file.close();
  }
}

// What was judged before it was opened may have been something else: what is open must be what the path leads to now.
async function checkOpened(path: string, opened: Stats): Promise<void> {
  const real = await realpath(path);
  const there = await stat(real);
  const isSame = there.ino === opened.ino && there.dev === opened.dev;
  if (!isSame || real !== path)
    throw new FetchError(`${path} may not be read: it leads elsewhere since it was looked at`);
}

function reasonOf(error: NodeJS.ErrnoException): string {
  switch (error.code) {
    case 'ENOENT':
      return 'there is no such file';
    case 'EACCES':
    case 'EPERM':
      return 'the server may not read it';
    case 'EISDIR':
      return 'it is a directory';
    default:
      return error.code ?? error.message;
  }
}
