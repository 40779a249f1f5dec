import { Worker } from 'node:worker_threads';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { IncomingVersion } from '../../documents/entry-types.js';
import { unlessAborted } from '../../limits/abortable.js';
import type { EntryFilter } from '../../sources/entry-filter.js';
import type { ReadEntries } from '../entry-validator.js';
import type { MemoryShare } from '../read-memory.js';
import { readRegistryFile, RegistryFileError, unpackEntries } from './registry-file.js';
import type { FileMessage, FileToRead } from './registry-file.worker.js';

const MIB = 1024 * 1024;
/** Smaller files are read in the main thread, because starting a worker takes about 100 ms. */
const WORKER_FROM_BYTES = MIB;
/** The heap holds one parsed document and the names; the bytes of files and documents are outside it. */
const WORKER_HEAP = { maxOldGenerationSizeMb: 48, maxYoungGenerationSizeMb: 16 };
/** An idle worker is stopped after this time; until then, it is reused, which is faster than starting one. */
const IDLE_MS = 15_000;

/**
 * Reads registry files. Large files are read in a worker thread so that they don't delay requests. A single worker
 * reads them one at a time, which limits its memory use. An error stops the worker, and the next file starts a new one.
 */
@Injectable()
export class RegistryFileReader implements OnApplicationShutdown {
  /** Settles when the worker is idle. */
  private lastRead: Promise<unknown> = Promise.resolve();
  private thread: Worker | undefined;
  private idle: NodeJS.Timeout | undefined;

  /**
   * Like `readRegistryFile`, but transfers a large file's `bytes` to the worker and stops counting them in `memory`.
   *
   * @param signal aborts when the result is no longer needed.
   */
  async read(
    bytes: Buffer,
    filter: EntryFilter | null,
    memory: MemoryShare,
    signal: AbortSignal,
  ): Promise<ReadEntries> {
    if (bytes.length < WORKER_FROM_BYTES) return readRegistryFile(bytes, filter, memory);
    const aborted = AbortSignal.any([signal, memory.signal]);
    const { length } = bytes;
    const reading = this.lastRead.then(() => this.readInThread(bytes, filter, memory, aborted));
    const ended = () => undefined;
    this.lastRead = reading.then(ended, ended);
    const content = await unlessAborted(reading, aborted);
    memory.release(length);
    return content;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.endThread();
  }

  private async readInThread(
    bytes: Buffer,
    filter: EntryFilter | null,
    memory: MemoryShare,
    signal: AbortSignal,
  ): Promise<ReadEntries> {
    signal.throwIfAborted();
    clearTimeout(this.idle);
    const thread = (this.thread ??= this.startThread());
    const answers = new AbortController();
    try {
      const answer = contentFrom(thread, memory, answers.signal);
      const file: FileToRead = { bytes: transferable(bytes), filter };
      thread.postMessage(file, [file.bytes.buffer]);
      const content = await unlessAborted(answer, signal);
      this.idle = setTimeout(() => void this.endThread(), IDLE_MS).unref();
      return content;
    } catch (error) {
      await this.endThread();
      throw error;
    } finally {
      answers.abort();
    }
  }

  private startThread(): Worker {
    const thread = new Worker(new URL('./registry-file.worker.js', import.meta.url), {
      // The worker needs neither the environment nor the command-line flags of the process.
      env: {},
      execArgv: [],
      resourceLimits: WORKER_HEAP,
    });
    thread.unref();
    // `contentFrom` handles errors during a read.
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

/** Collects the worker's messages until the file ends or the signal aborts. */
function contentFrom(thread: Worker, memory: MemoryShare, signal: AbortSignal): Promise<ReadEntries> {
  const batches: IncomingVersion[][] = [];
  return new Promise<ReadEntries>((resolve, reject) => {
    const onMessage = (message: FileMessage) => {
      try {
        if (message.kind === 'batch') {
          memory.add(message.bytes);
          batches.push(unpackEntries(message.entries));
        } else if (message.kind === 'end') resolve({ ...message.content, entries: batches.flat() });
        else reject(new RegistryFileError(message.sentence));
      } catch (error) {
        reject(error as Error);
      }
    };
    const onError = (error: unknown) => reject(refusalOf(error));
    const onExit = () => reject(new Error('The worker thread ended before it had read the file'));
    thread.on('message', onMessage).on('error', onError).on('exit', onExit);
    signal.addEventListener('abort', () => {
      thread.off('message', onMessage).off('error', onError).off('exit', onExit);
    });
  });
}

function refusalOf(error: unknown): Error {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ERR_WORKER_OUT_OF_MEMORY'
    ? new RegistryFileError('Reading the file takes too much memory: split it')
    : (error as Error);
}

// A pooled buffer cannot be transferred.
function transferable(bytes: Buffer): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes;
  const isWhole = buffer instanceof ArrayBuffer && buffer.byteLength === bytes.length;
  return isWhole ? new Uint8Array(buffer) : Uint8Array.from(bytes);
}
