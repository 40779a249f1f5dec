// The worker thread of SourceReader.
import { parentPort } from 'node:worker_threads';
import type { IncomingVersion, ListKey } from '../documents/entry-types.js';
import { JsonSliceError } from '../json/json-slices.js';
import type { EntryFilter } from '../sources/entry-filter.js';
import type { ReadEntries } from './entry-validator.js';
import { readRegistryFile, RegistryFileError } from './file/registry-file.js';
import {
  buffersOf,
  packEntries,
  type PackedEntries,
  type PackedVersions,
  packVersions,
} from './packed-entries.js';
import { type ListedVersion, type Page, PageReader } from './registry-api/registry-page.js';

/** Entries are counted and sent in batches of this size: reading one takes the main thread a few milliseconds. */
const BATCH_BYTES = 1024 * 1024;
const BATCH_VERSIONS = 1_000;

export type SourceText =
  | {
      readonly kind: 'file';
      readonly bytes: Uint8Array<ArrayBuffer>;
      readonly filter: EntryFilter | null;
    }
  | {
      readonly kind: 'page';
      readonly bytes: Uint8Array<ArrayBuffer>;
      readonly filter: EntryFilter | null;
      readonly list: ListKey;
    };

/**
 * The worker's messages: batches that together contain everything, then `file` or `page`, or `refused`. The last message
 * returns the text's bytes, because an idle worker does not collect garbage.
 */
export type SourceMessage =
  | { readonly kind: 'entries'; readonly bytes: number; readonly entries: PackedEntries }
  | ({ readonly kind: 'versions' } & PackedVersions)
  | { readonly kind: 'file'; readonly content: ReadEntries; readonly bytes: SourceText['bytes'] }
  | { readonly kind: 'page'; readonly page: Omit<Page, 'versions'>; readonly bytes: SourceText['bytes'] }
  | { readonly kind: 'refused'; readonly sentence: string };

parentPort?.on('message', (text: SourceText) => void read(text));

async function read(text: SourceText): Promise<void> {
  try {
    await (text.kind === 'file' ? readFile(text) : readVersions(text));
  } catch (error) {
    // Any other error is a bug and ends the worker.
    if (!(error instanceof RegistryFileError || error instanceof JsonSliceError)) throw error;
    post({ kind: 'refused', sentence: error.message });
  }
}

async function readFile({ bytes, filter }: SourceText): Promise<void> {
  let heldBytes = 0;
  let entries: IncomingVersion[] = [];
  const sendBatch = () => {
    const packed = packEntries(entries);
    post({ kind: 'entries', bytes: heldBytes, entries: packed }, buffersOf(packed));
    heldBytes = 0;
    entries = [];
  };
  const memory = {
    add: (more: number) => {
      heldBytes += more;
      if (heldBytes >= BATCH_BYTES) sendBatch();
    },
  };
  const onEntry = (version: IncomingVersion) => void entries.push(version);
  const content = await readRegistryFile(Buffer.from(bytes.buffer), filter, memory, { onEntry });
  sendBatch();
  post({ kind: 'file', content, bytes }, [bytes.buffer]);
}

async function readVersions({ bytes, list, filter }: SourceText & { kind: 'page' }): Promise<void> {
  const reader = new PageReader(Buffer.from(bytes.buffer), list, filter);
  let heldBytes = 0;
  let versions: ListedVersion[] = [];
  const sendBatch = () => {
    const packed = packVersions(versions);
    post({ kind: 'versions', ...packed }, buffersOf(packed.entries));
    heldBytes = 0;
    versions = [];
  };
  for await (const version of reader.versions()) {
    versions.push(version);
    heldBytes += version.bytes;
    if (heldBytes >= BATCH_BYTES || versions.length >= BATCH_VERSIONS) sendBatch();
  }
  sendBatch();
  post({ kind: 'page', page: reader.end(), bytes }, [bytes.buffer]);
}

function post(message: SourceMessage, transfer: ArrayBuffer[] = []): void {
  parentPort?.postMessage(message, transfer);
}
