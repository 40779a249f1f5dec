import { createHash } from 'node:crypto';
import type { Config, LimitsConfig } from '../config/config.js';
import type { LeasedSource } from '../sources/source-leases.queries.js';
import type { FetchState } from './fetcher.js';

/** Increment this when the reader or the document rules change, so that unchanged content is read again. */
const READER_VERSION = 'reader-7';

/** Returns a digest of the rules that decide which content of a source is stored. */
export function rulesDigest(
  { filter, admission }: LeasedSource,
  { versionsPerEntry, bytesPerEntry, publisherMeta }: LimitsConfig,
  { maxBytesPerVersion }: Pick<Config['content'], 'maxBytesPerVersion'>,
): string {
  return createHash('sha256')
    .update(
      JSON.stringify([
        ...[READER_VERSION, filter, admission, versionsPerEntry, bytesPerEntry, publisherMeta],
        maxBytesPerVersion,
      ]),
    )
    .digest('base64url');
}

/** Returns the state of the last run, if it used the same rules. */
export function previousState({ fetchState }: LeasedSource, rules: string): FetchState | null {
  const previous = fetchState as { rules: string; state: FetchState } | null;
  return previous?.rules === rules ? previous.state : null;
}
