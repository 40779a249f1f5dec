import type { Publisher } from '../audit/audit-event.js';
import type { Claims } from '../claims/claims.js';
import { type EntryName, officialMeta } from '../documents/incoming-version.js';
import type { Entry, EntryVersion } from './entry.entity.js';

/** A published version as the admin API shows it (contract §7), as JSON: its document is never parsed on the way out. */
export function describeVersion(
  { type, name }: EntryName,
  claims: Claims,
  stored: EntryVersion,
  publishedBy: Publisher | null = null,
): string {
  const by = publishedBy ? { publishedBy } : {};
  const head = JSON.stringify({ type, name, version: stored.version, claims, ...by }).slice(0, -1);
  return `${head},"${type}":${stored.document},"_meta":${officialMeta(stored)}}`;
}

/** A published entry as the admin API shows it (contract §7), as JSON. */
export function describeEntry(
  { type, name, shownClaims: claims }: Entry,
  versions: readonly EntryVersion[],
): string {
  return JSON.stringify({
    type,
    name,
    claims,
    versions: versions.map(
      ({ version, status, statusMessage, isLatest, publishedAt, updatedAt, publishedBy }) => ({
        version,
        status,
        ...(statusMessage === null ? {} : { statusMessage }),
        isLatest,
        publishedAt,
        updatedAt,
        ...(publishedBy === null ? {} : { publishedBy }),
      }),
    ),
  });
}

/** What the audit trail keeps of the status of a version. */
export function statusOf({ status, statusMessage }: Pick<EntryVersion, 'status' | 'statusMessage'>): object {
  return { status, ...(statusMessage === null ? {} : { statusMessage }) };
}
