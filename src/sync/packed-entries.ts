import type { IncomingVersion } from '../documents/entry-types.js';
import type { ListedVersion } from './registry-api/registry-page.js';

const DIGEST_BYTES = 32;

/** Versions packed for transfer between threads; all documents share one buffer, so it can be moved, not copied. */
export interface PackedEntries {
  readonly entries: readonly Omit<IncomingVersion, 'document' | 'digest'>[];
  readonly documents: Uint8Array<ArrayBuffer>;
  /** End offset of each document in `documents`. */
  readonly ends: readonly number[];
  readonly digests: Uint8Array<ArrayBuffer>;
}

/** Versions of a page; those that are valid refer to `entries` by position. */
export interface PackedVersions {
  readonly versions: readonly (Omit<ListedVersion, 'checked'> & {
    readonly checked: Omit<ListedVersion['checked'], 'version'>;
    readonly entry: number | null;
  })[];
  readonly entries: PackedEntries;
}

export function packEntries(given: readonly IncomingVersion[]): PackedEntries {
  let end = 0;
  const ends = given.map(({ document }) => (end += document.length));
  const documents = new Uint8Array(end);
  const digests = new Uint8Array(given.length * DIGEST_BYTES);
  const entries = given.map(({ document, digest, ...others }, index) => {
    documents.set(document, (ends[index] ?? 0) - document.length);
    digests.set(digest, index * DIGEST_BYTES);
    return others;
  });
  return { entries, documents, ends, digests };
}

export function unpackEntries({ entries, ends, ...packed }: PackedEntries): IncomingVersion[] {
  const documents = Buffer.from(packed.documents.buffer);
  const digests = Buffer.from(packed.digests.buffer);
  return entries.map((others, index) => ({
    ...others,
    document: documents.subarray(ends[index - 1] ?? 0, ends[index]),
    digest: digests.subarray(index * DIGEST_BYTES, (index + 1) * DIGEST_BYTES),
  }));
}

export function packVersions(given: readonly ListedVersion[]): PackedVersions {
  const valid: IncomingVersion[] = [];
  const versions = given.map(({ checked: { version, ...checked }, ...others }) => ({
    ...others,
    checked,
    entry: version ? valid.push(version) - 1 : null,
  }));
  return { versions, entries: packEntries(valid) };
}

export function unpackVersions({ versions, entries }: PackedVersions): ListedVersion[] {
  const valid = unpackEntries(entries);
  return versions.map(({ checked, entry, ...others }) => ({
    ...others,
    checked: { ...checked, version: entry === null ? null : (valid[entry] ?? null) },
  }));
}

/** The buffers to transfer with packed entries. */
export function buffersOf({ documents, digests }: PackedEntries): ArrayBuffer[] {
  return [documents.buffer, digests.buffer];
}
