import { createHash } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { open, realpath, stat } from 'node:fs/promises';
import type { LimitsConfig, Origin } from '../../config/config.js';
import { FetchError, tooLargeSentence } from '../../outbound/fetch-error.js';
import { ReadMemoryError } from '../read-memory.js';

const MIB = 1024 * 1024;
/** The default for `limits.mebibytesPerFile`, and the maximum for API-managed sources (reference/sources). */
const DEFAULT_MAX_BYTES = 64 * MIB;
/** Hashing a chunk takes less than a millisecond. */
const CHUNK_BYTES = MIB;

/** Returns the maximum size of a source's registry file. */
export function maxFileBytes(limits: Pick<LimitsConfig, 'mebibytesPerFile'>, origin: Origin): number {
  const bytes = limits.mebibytesPerFile * MIB;
  return origin === 'config' ? bytes : Math.min(bytes, DEFAULT_MAX_BYTES);
}

export interface LocalFile {
  readonly bytes: Buffer;
  /** SHA-256 of the bytes. */
  readonly digest: Buffer;
}

interface ReadFileOptions {
  readonly maxBytes?: number;
  /** Set if the path was resolved and checked before; it must not contain symbolic links now. */
  readonly hasNoLinks?: true;
  /** Receives the size in bytes before anything is read; if it throws, nothing is read. */
  readonly onSize?: ((bytes: number) => void) | undefined;
}

/**
 * Reads a regular file of at most `maxBytes`, by default 64 MiB (reference/sources). Reads and hashes it in chunks, so that a
 * large file does not block the event loop.
 *
 * @throws FetchError with the path and the cause.
 */
export async function readLocalFile(path: string, options: ReadFileOptions = {}): Promise<LocalFile> {
  // Opening a named pipe would wait for a writer without O_NONBLOCK.
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
    // Allocates the whole buffer first, because concatenating chunks would block while copying the file.
    const bytes = Buffer.allocUnsafeSlow(found.size);
    const hash = createHash('sha256');
    let chunk = bytes.subarray(0, 0);
    for (let read = 0; read < bytes.length; read += chunk.length) {
      const reading = file.read(bytes, read, Math.min(CHUNK_BYTES, bytes.length - read), read);
      // The previous chunk is hashed while this one is being read.
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

// The file may have been replaced between the check and the open, so the open file must be the one at this path.
async function checkOpened(path: string, opened: Stats): Promise<void> {
  const real = await realpath(path);
  const current = await stat(real);
  const isSame = current.ino === opened.ino && current.dev === opened.dev;
  if (!isSame || real !== path)
    throw new FetchError(`${path} was refused: it was replaced after it was checked`);
}

function reasonOf(error: NodeJS.ErrnoException): string {
  switch (error.code) {
    case 'ENOENT':
      return 'there is no such file';
    case 'EACCES':
    case 'EPERM':
      return 'the server has no permission to read it';
    case 'EISDIR':
      return 'it is a directory';
    default:
      return error.code ?? error.message;
  }
}
