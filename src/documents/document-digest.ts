import { hash } from 'node:crypto';

/** SHA-256 of a document as it is stored, in UTF-8: equal digests mean that it has not changed. */
export function documentDigest(document: string | Buffer): Buffer {
  return hash('sha256', document, 'buffer');
}
