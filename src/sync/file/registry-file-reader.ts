import { Worker } from 'node:worker_threads';
import { Injectable } from '@nestjs/common';
import type { IncomingVersion } from '../../documents/incoming-version.js';
import type { EntryFilter } from '../../sources/filter/entry-filter.js';
import type { ReadEntries } from '../entry-reader.js';
import type { MemoryShare } from '../read-memory.js';
import { unpackEntries } from './packed-entries.js';
import { readRegistryFile, RegistryFileError } from './registry-file.js';
import type { FileMessage, FileToRead } from './registry-file.worker.js';

const MIB = 1024 * 1024;
/** Smaller ones are read in slices of time here: a thread takes some 100 ms to start. */
const WORKER_FROM_BYTES = MIB;
/** What a thread may hold beside the bytes of the file and of documents: one parsed document, and the names it has seen. */
const WORKER_HEAP_MIB = 48;
const WORKER_YOUNG_MIB = 4;

/**
 * Reads registry files; large ones in a thread of their own, so that requests need not wait for it. There is one such thread at
 * a time, for one file: what it holds beside the memory of the runs is bounded, and it ends with the run.
 */
@Injectable()
export class RegistryFileReader {
  /** Settles when the thread is free. */
  private free: Promise<unknown> = Promise.resolve();

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
    const reading = this.free.then(() => readInWorker({ bytes: owned(bytes), filter }, memory, cut));
    this.free = reading.catch(() => undefined);
    const { length } = bytes;
    const content = await Promise.race([reading, aborted(cut)]);
    memory.release(length);
    return content;
  }
}

function readInWorker(file: FileToRead, memory: MemoryShare, signal: AbortSignal): Promise<ReadEntries> {
  signal.throwIfAborted();
  const worker = new Worker(new URL('./registry-file.worker.js', import.meta.url), {
    workerData: file,
    transferList: [file.bytes.buffer],
    // Nothing of the process is its business.
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: WORKER_HEAP_MIB, maxYoungGenerationSizeMb: WORKER_YOUNG_MIB },
  });
  worker.unref();
  const pieces: IncomingVersion[][] = [];
  const read = new Promise<ReadEntries>((resolve, reject) => {
    worker.on('error', (error) => reject(refusalOf(error)));
    worker.on('exit', () => reject(new Error('The thread that reads a file ended before it had read it')));
    worker.on('message', (message: FileMessage) => {
      try {
        if (message.kind === 'piece') {
          memory.add(message.bytes);
          pieces.push(unpackEntries(message.entries));
        } else if (message.kind === 'end') resolve({ ...message.content, entries: pieces.flat() });
        else reject(new RegistryFileError(message.sentence));
      } catch (error) {
        reject(error as Error);
      }
    });
  });
  return Promise.race([read, aborted(signal)]).finally(() => worker.terminate());
}

/** Rejects when the signal aborts, and never resolves. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const cut = () => reject(signal.reason as Error);
    if (signal.aborted) cut();
    else signal.addEventListener('abort', cut, { once: true });
  });
}

function refusalOf(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ERR_WORKER_OUT_OF_MEMORY'
    ? new RegistryFileError(
        `The file takes more than ${WORKER_HEAP_MIB} MiB of memory while it is read: split it`,
      )
    : error;
}

// What shares its memory with others, as parts of a pool do, can't be handed over.
function owned(bytes: Buffer): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes;
  const isWhole = buffer instanceof ArrayBuffer && buffer.byteLength === bytes.length;
  return isWhole ? new Uint8Array(buffer) : Uint8Array.from(bytes);
}
