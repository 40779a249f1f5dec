// The worker thread of RegistryFileReader.
import { parentPort } from 'node:worker_threads';
import type { IncomingVersion } from '../../documents/entry-types.js';
import type { EntryFilter } from '../../sources/entry-filter.js';
import type { ReadEntries } from '../entry-validator.js';
import { type PackedEntries, packEntries, readRegistryFile, RegistryFileError } from './registry-file.js';

/** Entries are counted and sent in batches of this size. */
const BATCH_BYTES = 1024 * 1024;

export interface FileToRead {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly filter: EntryFilter | null;
}

/**
 * The worker's messages: batches that together contain all entries, then `end` or `refused`. `end` returns the file's
 * bytes, because an idle worker does not collect garbage.
 */
export type FileMessage =
  | { readonly kind: 'batch'; readonly bytes: number; readonly entries: PackedEntries }
  | { readonly kind: 'end'; readonly content: ReadEntries; readonly bytes: FileToRead['bytes'] }
  | { readonly kind: 'refused'; readonly sentence: string };

parentPort?.on('message', (file: FileToRead) => void read(file));

async function read({ bytes, filter }: FileToRead): Promise<void> {
  let heldBytes = 0;
  let entries: IncomingVersion[] = [];
  const sendBatch = () => {
    const packed = packEntries(entries);
    post({ kind: 'batch', bytes: heldBytes, entries: packed }, [
      packed.documents.buffer,
      packed.digests.buffer,
    ]);
    heldBytes = 0;
    entries = [];
  };
  const memory = {
    add: (bytes: number) => {
      heldBytes += bytes;
      if (heldBytes >= BATCH_BYTES) sendBatch();
    },
  };
  try {
    const onEntry = (version: IncomingVersion) => void entries.push(version);
    const content = await readRegistryFile(Buffer.from(bytes.buffer), filter, memory, { onEntry });
    sendBatch();
    post({ kind: 'end', content, bytes }, [bytes.buffer]);
  } catch (error) {
    // Any other error is a bug and ends the worker.
    if (!(error instanceof RegistryFileError)) throw error;
    post({ kind: 'refused', sentence: error.message });
  }
}

function post(message: FileMessage, transfer: ArrayBuffer[] = []): void {
  parentPort?.postMessage(message, transfer);
}
