import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { receivedVersion } from '../documents/document-check.js';
import type { IncomingVersion, ListKey } from '../documents/entry-types.js';
import { JsonSliceError } from '../json/json-slices.js';
import { Semaphore } from '../limits/semaphore.js';
import { ThreadMemoryError, WorkerThread } from '../limits/worker-thread.js';
import type { StoredFilter } from '../sources/entry-filter.js';
import { FormatError, type FormatSettings } from './formats/source-content.js';
import { type JsonContent, readJsonFile } from './formats/json-file.js';
import type { MemoryShare } from './read-memory.js';
import { type UpstreamVersion, type Page, readPage } from './registry-api/registry-page.js';
import type { SourceMessage, UnreadContent } from './source-reader.worker.js';

/** Smaller texts are read in the main thread. */
const WORKER_FROM_BYTES = 128 * 1024;
/** The heap holds one parsed document and the names; the bytes of files and documents are outside it. */
const WORKER_HEAP = { maxOldGenerationSizeMb: 48, maxYoungGenerationSizeMb: 16 };
const TOO_LARGE = 'Reading it takes too much memory: split it';
/** Exceeds the wait of any text. */
const PATIENCE_MS = 24 * 60 * 60_000;

/**
 * Reads what sources contain: JSON files and pages of other registries. Large texts are read in a worker thread, one at a
 * time, so that they don't delay requests.
 */
@Injectable()
export class SourceReader implements OnApplicationShutdown {
  private readonly turns = new Semaphore(1, PATIENCE_MS);
  private readonly thread = new WorkerThread<UnreadContent, SourceMessage>(
    new URL('./source-reader.worker.js', import.meta.url),
    WORKER_HEAP,
  );

  /**
   * Works like `readJsonFile`, but transfers a large file's `bytes` to the worker and stops counting them in `memory`.
   *
   * @param signal aborts when the result is no longer needed.
   */
  async file(
    bytes: Buffer,
    settings: FormatSettings,
    memory: MemoryShare,
    signal: AbortSignal,
  ): Promise<JsonContent> {
    if (bytes.length < WORKER_FROM_BYTES) return readJsonFile(bytes, settings, memory);
    const { length } = bytes;
    const text = { bytes: transferable(bytes), file: settings };
    const count = (held: number) => memory.add(held);
    const { versions, rest } = await this.inThread(text, signal, FormatError, count);
    memory.release(length);
    return {
      ...(rest as JsonContent),
      entries: versions.map((one) => receivedVersion(one as IncomingVersion)),
    };
  }

  /** Works like `readPage`, but transfers a large page's `bytes` to the worker. */
  async page(bytes: Buffer, list: ListKey, filter: StoredFilter | null, signal: AbortSignal): Promise<Page> {
    if (bytes.length < WORKER_FROM_BYTES) {
      const versions: UpstreamVersion[] = [];
      return { ...readPage(bytes, list, filter, (version) => versions.push(version)), versions };
    }
    const text = { bytes: transferable(bytes), page: { list, filter } };
    const { versions, rest } = await this.inThread(text, signal, JsonSliceError);
    return { ...(rest as Page), versions: versions.map((one) => receivedListed(one as UpstreamVersion)) };
  }

  async onApplicationShutdown(): Promise<void> {
    await this.thread.stop();
  }

  private async inThread(
    text: UnreadContent,
    signal: AbortSignal,
    Refusal: new (sentence: string) => Error,
    count: (held: number) => void = () => undefined,
  ): Promise<{ versions: unknown[]; rest: object }> {
    const versions: unknown[] = [];
    const onMessage = ({ batch, held, rest, refused }: SourceMessage) => {
      if (refused !== undefined) throw new Refusal(refused);
      count(held);
      for (const version of batch) versions.push(version);
      return rest;
    };
    try {
      const rest = await this.turns.run('', signal, () =>
        this.thread.run(text, onMessage, signal, [text.bytes.buffer]),
      );
      return { versions, rest };
    } catch (error) {
      throw error instanceof ThreadMemoryError ? new Refusal(TOO_LARGE) : error;
    }
  }
}

function receivedListed({ checked, ...listed }: UpstreamVersion): UpstreamVersion {
  const { version } = checked;
  return { ...listed, checked: { ...checked, version: version && receivedVersion(version) } };
}

// A pooled buffer cannot be transferred.
function transferable(bytes: Buffer): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes;
  const isWhole = buffer instanceof ArrayBuffer && buffer.byteLength === bytes.length;
  return isWhole ? new Uint8Array(buffer) : Uint8Array.from(bytes);
}
