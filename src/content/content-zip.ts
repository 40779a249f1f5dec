import { Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import { StreamedJson } from '../http/json-answers.js';
import type { Tree } from './content-tree.js';

/** The earliest time that a zip file can contain; it has no time zone. */
const FIXED_TIME = new Date(1980, 0, 1);
const REGULAR_FILE = 0o100644;
const EXECUTABLE_FILE = 0o100755;

/**
 * Yields a zip file with these files, as fast as its consumer reads it, with only one chunk of one file in memory.
 * Equal trees yield equal bytes on every machine, because nothing is compressed.
 *
 * @param read reads a file by its digest.
 */
export async function* zipOf(
  { files }: Tree,
  read: (digest: string) => AsyncIterable<Buffer>,
): AsyncGenerator<Buffer> {
  const zip = new ZipFile();
  const output = zip.outputStream as Readable;
  let input: Readable | undefined;
  zip.on('error', (error: Error) => output.destroy(error));
  for (const { path, digest, bytes, executable } of files) {
    const mode = executable ? EXECUTABLE_FILE : REGULAR_FILE;
    const options = { size: bytes, mode, mtime: FIXED_TIME, forceDosTimestamp: true, compress: false };
    zip.addReadStreamLazy(path, options, (done) => {
      // A stream in object mode would read 16 chunks ahead.
      input = Readable.from(read(digest), { objectMode: false, highWaterMark: 1 });
      input.on('error', (error) => output.destroy(error));
      done(null, input);
    });
  }
  zip.end();
  try {
    for await (const chunk of output) yield chunk as Buffer;
  } finally {
    input?.destroy();
  }
}

/** A zip file that is sent while it is being built. */
export class StreamedZip extends StreamedJson {
  constructor(
    private readonly digest: string,
    chunks: AsyncGenerator<Buffer>,
    gone: AbortSignal,
    callerKey: string,
    headers: Readonly<Record<string, string>>,
  ) {
    super(chunks, gone, callerKey, digest, { 'Content-Type': 'application/zip', ...headers });
  }

  /** Strong, because the digest of a tree determines the bytes. */
  override get etag(): string {
    return `"${this.digest}"`;
  }
}
