import { isDeepStrictEqual } from 'node:util';
import type { AuditTarget } from '../audit/audit-event.js';
import type { ChangeEvent } from '../audit/audit-trail.js';
import type { Claims } from '../claims/claims.js';
import type { EntryName, IncomingVersion } from '../documents/entry-types.js';
import type { Entry, EntryVersion, VersionSummary } from './entry.entity.js';

export function targetOf({ type, name }: EntryName, source: string, version?: string): AuditTarget {
  return { type, name, ...(version === undefined ? {} : { version }), source };
}

/** Returns the event for a publication. @param claims as shown. */
export function publicationEvent(source: string, version: IncomingVersion, claims: Claims): ChangeEvent {
  const { status, digest } = version;
  return {
    action: 'entry.publish',
    target: targetOf(version, source, version.version),
    claims: [claims],
    change: { after: { claims, status, sha256: digest.toString('hex') } },
  };
}

/** Returns the event for changed claims of an entry; none if they are unchanged. @param after as shown. */
export function claimsEvents(entry: Entry, after: Claims): ChangeEvent[] {
  const before = entry.shownClaims;
  if (isDeepStrictEqual(before, after)) return [];
  return [
    {
      action: 'entry.claims.update',
      target: targetOf(entry, entry.source.name),
      claims: [before, after],
      change: { before: { claims: before }, after: { claims: after } },
    },
  ];
}

/** Returns the versions whose status or message would change. */
export function changingVersions(
  versions: readonly VersionSummary[],
  after: Pick<EntryVersion, 'status' | 'statusMessage'>,
): readonly VersionSummary[] {
  return versions.filter(
    ({ status, statusMessage }) => status !== after.status || statusMessage !== after.statusMessage,
  );
}

/** Returns the event for changed statuses; none if no status changes. @param version absent for all. */
export function statusEvents(
  entry: Entry,
  versions: readonly VersionSummary[],
  after: Pick<EntryVersion, 'status' | 'statusMessage'>,
  version?: string,
): ChangeEvent[] {
  const changing = changingVersions(versions, after);
  if (changing.length === 0) return [];
  return [
    {
      action: 'entry.status',
      target: targetOf(entry, entry.source.name, version),
      claims: [entry.claims],
      change: {
        before: { versions: changing.map((one) => ({ version: one.version, ...statusOf(one) })) },
        after: statusOf(after),
      },
    },
  ];
}

/** Returns the status of a version for the audit trail. */
export function statusOf({ status, statusMessage }: Pick<EntryVersion, 'status' | 'statusMessage'>): object {
  return { status, ...(statusMessage === null ? {} : { statusMessage }) };
}
