import type { EntryType } from '../../documents/entry-types.js';
import type { IncomingVersion } from '../../documents/incoming-version.js';

const DIGEST_BYTES = 32;

/** Versions as one thread hands them to another: their documents in one piece, which is not copied on the way. */
export interface PackedEntries {
  readonly types: readonly EntryType[];
  readonly names: readonly string[];
  readonly versions: readonly string[];
  readonly statuses: readonly string[];
  readonly searchTexts: readonly string[];
  readonly documents: Uint8Array<ArrayBuffer>;
  /** Where in `documents` each one ends. */
  readonly ends: readonly number[];
  readonly digests: Uint8Array<ArrayBuffer>;
}

export function packEntries(entries: readonly IncomingVersion[]): PackedEntries {
  let end = 0;
  const ends = entries.map(({ document }) => (end += document.length));
  const documents = new Uint8Array(end);
  const digests = new Uint8Array(entries.length * DIGEST_BYTES);
  for (const [index, { document, digest }] of entries.entries()) {
    documents.set(document, (ends[index] ?? 0) - document.length);
    digests.set(digest, index * DIGEST_BYTES);
  }
  return {
    types: entries.map(({ type }) => type),
    names: entries.map(({ name }) => name),
    versions: entries.map(({ version }) => version),
    statuses: entries.map(({ status }) => status),
    searchTexts: entries.map(({ searchText }) => searchText),
    documents,
    ends,
    digests,
  };
}

export function unpackEntries(packed: PackedEntries): IncomingVersion[] {
  const { names, versions, statuses, searchTexts, ends } = packed;
  const documents = Buffer.from(packed.documents.buffer);
  const digests = Buffer.from(packed.digests.buffer);
  return packed.types.map((type, index) => ({
    type,
    name: names[index] ?? '',
    version: versions[index] ?? '',
    document: documents.subarray(ends[index - 1] ?? 0, ends[index]),
    digest: digests.subarray(index * DIGEST_BYTES, (index + 1) * DIGEST_BYTES),
    status: statuses[index] ?? '',
    searchText: searchTexts[index] ?? '',
  }));
}
