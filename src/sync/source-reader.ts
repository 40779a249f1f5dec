import { Worker } from 'node:worker_threads';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { IncomingVersion, ListKey } from '../documents/entry-types.js';
import { JsonSliceError } from '../json/json-slices.js';
import { unlessAborted } from '../limits/abortable.js';
import type { EntryFilter } from '../sources/entry-filter.js';
import type { ReadEntries } from './entry-validator.js';
import { readRegistryFile, RegistryFileError } from './file/registry-file.js';
import { unpackEntries, unpackVersions } from './packed-entries.js';
import type { MemoryShare } from './read-memory.js';
import { type ListedVersion, type Page, readPage } from './registry-api/registry-page.js';
import type { SourceMessage, SourceText } from './source-reader.worker.js';

/** Smaller texts are read in the main thread, because starting a worker takes about 100 ms. */
const WORKER_FROM_BYTES = 128 * 1024;
/** The heap holds one parsed document and the names; the bytes of files and documents are outside it. */
const WORKER_HEAP = { maxOldGenerationSizeMb: 48, maxYoungGenerationSizeMb: 16 };
/** An idle worker is stopped after this time; until then, it is reused, which is faster than starting one. */
const IDLE_MS = 15_000;

/**
 * Reads what sources contain: registry files and pages of other registries. Large texts are read in a worker thread so
 * that they don't delay requests. A single worker reads them one at a time, which limits its memory use. An error stops
 * the worker, and the next text starts a new one.
 */
@Injectable()
export class SourceReader implements OnApplicationShutdown {
  /** Settles when the worker is idle. */
  private lastRead: Promise<unknown> = Promise.resolve();
  private thread: Worker | undefined;
  private idle: NodeJS.Timeout | undefined;

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
      AbortSignal.any([signal, memory.signal]),
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
    await this.endThread();
  }

  /** @param onMessage receives the worker's messages and returns the result with the last one. */
  private inThread<T>(
    text: SourceText,
    signal: AbortSignal,
    onMessage: (message: SourceMessage) => T | undefined,
  ): Promise<T> {
    const reading = this.lastRead.then(() => this.read(text, signal, onMessage));
    const ended = () => undefined;
    this.lastRead = reading.then(ended, ended);
    return unlessAborted(reading, signal);
  }

  private async read<T>(
    text: SourceText,
    signal: AbortSignal,
    onMessage: (message: SourceMessage) => T | undefined,
  ): Promise<T> {
    signal.throwIfAborted();
    clearTimeout(this.idle);
    const thread = (this.thread ??= this.startThread());
    const answers = new AbortController();
    try {
      const answer = answerOf(thread, onMessage, answers.signal);
      thread.postMessage(text, [text.bytes.buffer]);
      const result = await unlessAborted(answer, signal);
      this.idle = setTimeout(() => void this.endThread(), IDLE_MS).unref();
      return result;
    } catch (error) {
      await this.endThread();
      throw error;
    } finally {
      answers.abort();
    }
  }

  private startThread(): Worker {
    const thread = new Worker(new URL('./source-reader.worker.js', import.meta.url), {
      // The worker needs neither the environment nor the command-line flags of the process.
      env: {},
      execArgv: [],
      resourceLimits: WORKER_HEAP,
    });
    thread.unref();
    // `answerOf` handles errors during a read.
    thread.on('error', () => undefined);
    thread.on('exit', () => {
      if (this.thread === thread) this.thread = undefined;
    });
    return thread;
  }

  private async endThread(): Promise<void> {
    clearTimeout(this.idle);
    const { thread } = this;
    this.thread = undefined;
    await thread?.terminate();
  }
}

/** Collects the worker's messages until one yields the result or the signal aborts. */
function answerOf<T>(
  thread: Worker,
  onMessage: (message: SourceMessage) => T | undefined,
  signal: AbortSignal,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const onPosted = (message: SourceMessage) => {
      try {
        const result = onMessage(message);
        if (result !== undefined) resolve(result);
      } catch (error) {
        reject(error as Error);
      }
    };
    const onError = (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ERR_WORKER_OUT_OF_MEMORY') reject(error);
      else onPosted({ kind: 'refused', sentence: 'Reading it takes too much memory: split it' });
    };
    const onExit = () => reject(new Error('The worker thread ended before it had read the text'));
    thread.on('message', onPosted).on('error', onError).on('exit', onExit);
    signal.addEventListener('abort', () => {
      thread.off('message', onPosted).off('error', onError).off('exit', onExit);
    });
  });
}

// A pooled buffer cannot be transferred.
function transferable(bytes: Buffer): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes;
  const isWhole = buffer instanceof ArrayBuffer && buffer.byteLength === bytes.length;
  return isWhole ? new Uint8Array(buffer) : Uint8Array.from(bytes);
}
