// The worker thread of SourceReader.
import { parentPort } from 'node:worker_threads';
import type { ListKey } from '../documents/entry-types.js';
import { JsonSliceError } from '../json/json-slices.js';
import type { StoredFilter } from '../sources/entry-filter.js';
import { FormatError, type FormatSettings } from './formats/source-content.js';
import { readJsonFile } from './formats/json-file.js';
import { readPage } from './registry-api/registry-page.js';

/**
 * Batch size for counting and sending versions: the main thread takes a few milliseconds to read one batch.
 */
const BATCH_BYTES = 1024 * 1024;
const BATCH_VERSIONS = 1_000;

/** A file or a page. */
export type UnreadContent = { readonly bytes: Uint8Array<ArrayBuffer> } & (
  | { readonly file: FormatSettings; readonly page?: undefined }
  | { readonly page: { readonly list: ListKey; readonly filter: StoredFilter | null } }
);

/** A batch of versions and the memory they take. The last message has `rest`, or the reason in `refused`. */
export interface SourceMessage {
  readonly batch: readonly unknown[];
  readonly held: number;
  readonly rest?: object;
  /** The text's bytes, returned because an idle worker does not collect garbage. */
  readonly bytes?: UnreadContent['bytes'];
  readonly refused?: string;
}

parentPort?.on('message', (content: UnreadContent) => {
  const { bytes } = content;
  let batch: unknown[] = [];
  let held = 0;
  const send = (more: Partial<SourceMessage> = {}) => {
    parentPort?.postMessage({ batch, held, ...more }, more.bytes ? [more.bytes.buffer] : []);
    batch = [];
    held = 0;
  };
  const add = (size: number) => {
    held += size;
    if (held >= BATCH_BYTES || batch.length >= BATCH_VERSIONS) send();
  };
  const keep = (version: unknown) => void batch.push(version);
  const text = Buffer.from(bytes.buffer);
  try {
    const rest = content.page
      ? readPage(text, content.page.list, content.page.filter, (version) => {
          keep(version);
          add(version.bytes);
        })
      : readJsonFile(text, content.file, { add }, keep);
    send({ rest, bytes });
  } catch (error) {
    // Any other error is a bug and ends the worker.
    if (!(error instanceof FormatError || error instanceof JsonSliceError)) throw error;
    send({ refused: error.message, bytes });
  }
});
