// A thread that reads one file after the other: see RegistryFileReader.
import { parentPort } from 'node:worker_threads';
import type { IncomingVersion } from '../../documents/incoming-version.js';
import type { EntryFilter } from '../../sources/entry-filter.js';
import type { ReadEntries } from '../entry-reader.js';
import { type PackedEntries, packEntries, readRegistryFile, RegistryFileError } from './registry-file.js';

/** What is kept of the file is told, and handed over, in pieces of this size. */
const PIECE_BYTES = 1024 * 1024;

export interface FileToRead {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly filter: EntryFilter | null;
}

/**
 * What the thread says, in this order: pieces, which hold all entries, and one of the others. The bytes of the file go back: a thread
 * with nothing to do does not collect its garbage.
 */
export type FileMessage =
  | { readonly kind: 'piece'; readonly bytes: number; readonly entries: PackedEntries }
  | { readonly kind: 'end'; readonly content: ReadEntries; readonly bytes: FileToRead['bytes'] }
  | { readonly kind: 'refused'; readonly sentence: string };

parentPort?.on('message', (file: FileToRead) => void read(file));

async function read({ bytes, filter }: FileToRead): Promise<void> {
  let kept = 0;
  let entries: IncomingVersion[] = [];
  const handOver = () => {
    const packed = packEntries(entries);
    say({ kind: 'piece', bytes: kept, entries: packed }, [packed.documents.buffer, packed.digests.buffer]);
    kept = 0;
    entries = [];
  };
  const memory = {
    add: (more: number) => {
      kept += more;
      if (kept >= PIECE_BYTES) handOver();
    },
  };
  try {
    const onEntry = (version: IncomingVersion) => void entries.push(version);
    const content = await readRegistryFile(Buffer.from(bytes.buffer), filter, memory, { onEntry });
    handOver();
    say({ kind: 'end', content, bytes }, [bytes.buffer]);
  } catch (error) {
    // Anything else is our fault, and ends the thread.
    if (!(error instanceof RegistryFileError)) throw error;
    say({ kind: 'refused', sentence: error.message });
  }
}

function say(message: FileMessage, transfer: ArrayBuffer[] = []): void {
  parentPort?.postMessage(message, transfer);
}
