import type { IncomingVersion } from '../../documents/incoming-version.js';
import { versionKey } from '../../documents/versions.js';
import type { EntryVersion } from '../entry.entity.js';

/** What is written of a version, beside its entry, whether it is the latest, who published it, and the document. */
export type VersionColumns = Omit<
  EntryVersion,
  'id' | 'entryId' | 'entry' | 'isLatest' | 'publishedBy' | 'document'
>;

/** What decides of a version that is stored already. Times are milliseconds since 1970. */
interface Stored {
  readonly status: string;
  readonly statusChangedAt: number;
  readonly publishedAt: number;
}

/**
 * The columns of a version that is written `now`. Times that its source does not give are those that were stored, or `now`
 * where there are none; so the key of its order always fits its time of publication.
 */
export function versionColumns(incoming: IncomingVersion, now: Date, stored?: Stored): VersionColumns {
  const { version, digest, searchText, status, statusMessage = null } = incoming;
  const publishedAt = incoming.publishedAt ?? (stored ? new Date(stored.publishedAt) : now);
  const unchangedSince = stored?.status === status ? new Date(stored.statusChangedAt) : now;
  return {
    version,
    versionKey: versionKey(version, publishedAt, incoming.isUpstreamLatest),
    digest,
    search: searchText,
    status,
    statusMessage,
    statusChangedAt: incoming.statusChangedAt ?? unchangedSince,
    publishedAt,
    updatedAt: now,
  };
}

/** The key of a version whose columns are otherwise as they are stored: another one when its place in the order has changed. */
export function versionKeyOf(
  { version, publishedAt, isUpstreamLatest }: IncomingVersion,
  stored: Pick<Stored, 'publishedAt'>,
): string {
  return versionKey(version, publishedAt ?? new Date(stored.publishedAt), isUpstreamLatest);
}
