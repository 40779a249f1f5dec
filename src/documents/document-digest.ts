import { createHash } from 'node:crypto';

/** SHA-256 of a document's text as it is stored: equal digests mean that a document has not changed. */
export function documentDigest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
