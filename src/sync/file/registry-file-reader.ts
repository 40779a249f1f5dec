import { Worker } from 'node:worker_threads';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { IncomingVersion } from '../../documents/incoming-version.js';
import type { EntryFilter } from '../../sources/entry-filter.js';
import type { ReadEntries } from '../entry-reader.js';
import type { MemoryShare } from '../read-memory.js';
import { readRegistryFile, RegistryFileError, unpackEntries } from './registry-file.js';
import type { FileMessage, FileToRead } from './registry-file.worker.js';

const MIB = 1024 * 1024;
/** Smaller ones are read in slices of time here: a thread takes some 100 ms to start. */
const WORKER_FROM_BYTES = MIB;
/** What the thread may hold beside the bytes of the file and of documents: one parsed document, and the names it has seen. */
const WORKER_HEAP = { maxOldGenerationSizeMb: 48, maxYoungGenerationSizeMb: 16 };
/** The thread ends when it has had nothing to do for this long: what it was made of is faster the second time. */
const IDLE_MS = 15_000;

/**
 * Reads registry files; large ones in a thread, so that requests need not wait for it. There is one thread, which reads one file
 * at a time: what it holds beside the memory of the runs is bounded. What goes wrong with a file ends it, and the next file has
 * another one.
 */
@Injectable()
export class RegistryFileReader implements OnApplicationShutdown {
  /** Settles when the thread is free. */
  private free: Promise<unknown> = Promise.resolve();
  private thread: Worker | undefined;
  private idle: NodeJS.Timeout | undefined;

  /**
   * As `readRegistryFile`. The bytes of a large file can't be used afterwards, and count as memory no longer.
   *
   * @param signal aborts when the result is not needed any more.
   */
  async read(
    bytes: Buffer,
    filter: EntryFilter | null,
    memory: MemoryShare,
    signal: AbortSignal,
  ): Promise<ReadEntries> {
    if (bytes.length < WORKER_FROM_BYTES) return readRegistryFile(bytes, filter, memory);
    const cut = AbortSignal.any([signal, memory.signal]);
    const { length } = bytes;
    const reading = this.free.then(() => this.readInThread(bytes, filter, memory, cut));
    const ended = () => undefined;
    this.free = reading.then(ended, ended);
    const content = await unlessAborted(reading, cut);
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
      const file: FileToRead = { bytes: owned(bytes), filter };
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
      // Nothing of the process is its business.
      env: {},
      execArgv: [],
      resourceLimits: WORKER_HEAP,
    });
    thread.unref();
    // While it reads, whoever waits is told.
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

/** What the thread finds in the file that it reads, until the signal aborts. */
function contentFrom(thread: Worker, memory: MemoryShare, signal: AbortSignal): Promise<ReadEntries> {
  const pieces: IncomingVersion[][] = [];
  return new Promise<ReadEntries>((resolve, reject) => {
    const onMessage = (message: FileMessage) => {
      try {
        if (message.kind === 'piece') {
          memory.add(message.bytes);
          pieces.push(unpackEntries(message.entries));
        } else if (message.kind === 'end') resolve({ ...message.content, entries: pieces.flat() });
        else reject(new RegistryFileError(message.sentence));
      } catch (error) {
        reject(error as Error);
      }
    };
    const onError = (error: unknown) => reject(refusalOf(error));
    const onExit = () => reject(new Error('The thread that reads a file ended before it had read it'));
    thread.on('message', onMessage).on('error', onError).on('exit', onExit);
    signal.addEventListener('abort', () => {
      thread.off('message', onMessage).off('error', onError).off('exit', onExit);
    });
  });
}

/** Ends as the work does, or with the signal; whichever it is, the signal holds neither of them afterwards. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const cut = () => reject(signal.reason as Error);
    const stay = () => signal.removeEventListener('abort', cut);
    work.finally(stay).then(resolve, reject);
    if (signal.aborted) cut();
    else signal.addEventListener('abort', cut, { once: true });
  });
}

function refusalOf(error: unknown): Error {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ERR_WORKER_OUT_OF_MEMORY'
    ? new RegistryFileError('The file takes too much memory while it is read: split it')
    : (error as Error);
}

// What shares its memory with others, as parts of a pool do, can't be handed over.
function owned(bytes: Buffer): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes;
  const isWhole = buffer instanceof ArrayBuffer && buffer.byteLength === bytes.length;
  return isWhole ? new Uint8Array(buffer) : Uint8Array.from(bytes);
}
