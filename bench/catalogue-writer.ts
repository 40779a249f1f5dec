// A worker: writing some ten megabytes of text in the thread that is measured would hold up the very loop it measures.
import { writeFileSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { serverDocuments } from './server-documents.js';

/** What is written: a catalogue in the registry format. */
export interface WrittenCatalogue {
  readonly file: string;
  readonly count: number;
  readonly edition: number;
  /** The same documents in other bytes: the other way round, and with other white space. */
  readonly reformatted: boolean;
}

const { file, count, edition, reformatted } = workerData as WrittenCatalogue;
const servers = serverDocuments(count, { number: edition });
if (reformatted) servers.reverse();
writeFileSync(
  file,
  JSON.stringify(
    { version: '1.0.0', meta: { last_updated: '2026-01-01T00:00:00Z' }, data: { servers } },
    null,
    reformatted ? 1 : 2,
  ),
);
