import { createHash } from 'node:crypto';
import type { LeasedSource } from '../sources/source-leases.queries.js';
import type { FetchState } from './fetcher.js';

/** Goes up when the reader or the document rules change, so that unchanged content is read again with the new ones. */
const READER_VERSION = 'reader-4';

/** What was read also depends on the filter and on the rules that read it. */
export function rulesDigest(source: LeasedSource): string {
  return createHash('sha256')
    .update(JSON.stringify([READER_VERSION, source.filter]))
    .digest('base64url');
}

/** The digest of a content, as read by these rules. */
export function withRules(digest: Buffer, rules: string): Buffer {
  return createHash('sha256').update(rules).update(digest).digest();
}

/** What the last run has left, if it read by these rules. */
export function stateOf({ fetchState }: LeasedSource, rules: string): FetchState | null {
  const kept = fetchState as { rules: string; state: FetchState } | null;
  return kept?.rules === rules ? kept.state : null;
}
