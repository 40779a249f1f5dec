// A worker, because writing ten megabytes in the measured thread would block its event loop.
import { writeFileSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { nameOf, serverDocument } from './documents.js';

const SEED = 7;

/** The file to write: a catalog in the registry format. */
export interface WrittenCatalogue {
  readonly file: string;
  readonly count: number;
  /** One in ten servers has a different description in later editions, and half of these a different version. */
  readonly edition: number;
  /** Writes the same documents as different bytes: in reverse order, with different white space. */
  readonly reformatted: boolean;
}

const { file, count, edition, reformatted } = workerData as WrittenCatalogue;
const servers = Array.from({ length: count }, (_, index) => edited(index, index % 10 === 0 ? edition : 0));
if (reformatted) servers.reverse();
writeFileSync(
  file,
  JSON.stringify(
    { version: '1.0.0', meta: { last_updated: '2026-01-01T00:00:00Z' }, data: { servers } },
    null,
    reformatted ? 1 : 2,
  ),
);

function edited(index: number, number: number): object {
  const version = `1.${index % 7}.${index % 20 === 0 ? number : 0}`;
  const document = serverDocument(nameOf(index, SEED), version, index, SEED);
  return number === 0 ? document : { ...document, description: `Edition ${number} of server ${index}` };
}
