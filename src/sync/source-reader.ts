import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { IncomingVersion, ListKey } from '../documents/entry-types.js';
import { JsonSliceError } from '../json/json-slices.js';
import { unlessAborted } from '../limits/abortable.js';
import { ThreadMemoryError, WorkerThread } from '../limits/worker-thread.js';
import type { EntryFilter } from '../sources/entry-filter.js';
import type { ReadEntries } from './entry-validator.js';
import { readRegistryFile, RegistryFileError } from './file/registry-file.js';
import { unpackEntries, unpackVersions } from './packed-entries.js';
import type { MemoryShare } from './read-memory.js';
import { type ListedVersion, type Page, readPage } from './registry-api/registry-page.js';
import type { SourceMessage, SourceText } from './source-reader.worker.js';

/** Smaller texts are read in the main thread. */
const WORKER_FROM_BYTES = 128 * 1024;
/** The heap holds one parsed document and the names; the bytes of files and documents are outside it. */
const WORKER_HEAP = { maxOldGenerationSizeMb: 48, maxYoungGenerationSizeMb: 16 };
const TOO_LARGE = 'Reading it takes too much memory: split it';

/**
 * Reads what sources contain: registry files and pages of other registries. Large texts are read in a worker thread, one at a
 * time, so that they don't delay requests.
 */
@Injectable()
export class SourceReader implements OnApplicationShutdown {
  /** Settles when the worker is idle. */
  private lastRead: Promise<unknown> = Promise.resolve();
  private readonly thread = new WorkerThread<SourceText, SourceMessage>(
    new URL('./source-reader.worker.js', import.meta.url),
    WORKER_HEAP,
  );

  /**
   * Like `readRegistryFile`, but transfers a large file's `bytes` to the worker and stops counting them in `memory`.
   *
   * @param signal aborts when the result is no longer needed.
   */
  async file(
    bytes: Buffer,
    filter: EntryFilter | null,
    memory: MemoryShare,
    signal: AbortSignal,
  ): Promise<ReadEntries> {
    if (bytes.length < WORKER_FROM_BYTES) return readRegistryFile(bytes, filter, memory);
    const { length } = bytes;
    const batches: IncomingVersion[][] = [];
    const content = await this.inThread(
      { kind: 'file', bytes: transferable(bytes), filter },
      signal,
      (message) => {
        if (message.kind === 'file') return { ...message.content, entries: batches.flat() };
        if (message.kind === 'refused') throw new RegistryFileError(message.sentence);
        if (message.kind !== 'entries') throw new Error('The worker thread sent a page instead of a file');
        memory.add(message.bytes);
        batches.push(unpackEntries(message.entries));
        return undefined;
      },
    );
    memory.release(length);
    return content;
  }

  /** Like `readPage`, but transfers a large page's `bytes` to the worker. */
  page(bytes: Buffer, list: ListKey, filter: EntryFilter | null, signal: AbortSignal): Promise<Page> {
    if (bytes.length < WORKER_FROM_BYTES) return readPage(bytes, list, filter);
    const versions: ListedVersion[] = [];
    return this.inThread({ kind: 'page', bytes: transferable(bytes), list, filter }, signal, (message) => {
      if (message.kind === 'page') return { ...message.page, versions };
      if (message.kind === 'refused') throw new JsonSliceError(message.sentence);
      if (message.kind !== 'versions') throw new Error('The worker thread sent a file instead of a page');
      for (const version of unpackVersions(message)) versions.push(version);
      return undefined;
    });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.thread.stop();
  }

  /** @param onMessage receives the worker's messages and returns the result with the last one. */
  private inThread<T>(
    text: SourceText,
    signal: AbortSignal,
    onMessage: (message: SourceMessage) => T | undefined,
  ): Promise<T> {
    const reading = this.lastRead.then(() =>
      this.thread.run(text, onMessage, signal, [text.bytes.buffer]).catch((error: unknown) => {
        if (!(error instanceof ThreadMemoryError)) throw error;
        return onMessage({ kind: 'refused', sentence: TOO_LARGE }) as never;
      }),
    );
    const ended = () => undefined;
    this.lastRead = reading.then(ended, ended);
    return unlessAborted(reading, signal);
  }
}

// A pooled buffer cannot be transferred.
function transferable(bytes: Buffer): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes;
  const isWhole = buffer instanceof ArrayBuffer && buffer.byteLength === bytes.length;
  return isWhole ? new Uint8Array(buffer) : Uint8Array.from(bytes);
}
