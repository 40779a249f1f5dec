import type { EntityManager } from 'typeorm';
import type { Publisher } from '../audit/audit-event.js';
import { asGiven, type Claims, givenForm } from '../claims/claims.js';
import type { EntryName, IncomingVersion, VersionName } from '../documents/entry-types.js';
import type { Status } from '../documents/statuses.js';
import { MANAGED_KIND } from '../source-kinds/kinds.js';
import type { EntrySize } from './entry-limits.js';
import { Entry, EntryVersion, versionColumns } from './entry.entity.js';
import { SIZE_OF_ENTRY } from './entry-documents.queries.js';
import { summaryOf } from './entry-summary.js';
import { precedes } from './latest-version.queries.js';

/** A published entry, as a further version needs it. */
export interface PublishedEntry {
  readonly id: string;
  readonly sourceId: number;
  /** The claims required to see it. */
  readonly claims: Claims;
  /** The claims as they were given. */
  readonly shownClaims: Claims;
  readonly size: EntrySize;
  /** Whether it has the version that is published. */
  readonly hasVersion: boolean;
  readonly latest: { readonly status: Status; readonly versionKey: string };
}

interface EntryRow {
  readonly id: string;
  readonly sourceId: number;
  readonly claims: Claims;
  readonly givenClaims: Claims | null;
  readonly versions: number;
  readonly bytes: number;
  readonly hasVersion: boolean;
  readonly status: Status;
  readonly versionKey: string;
}

/** Reads the entry that a version is published to; null if its name is new. */
export async function findPublished(
  manager: EntityManager,
  { type, name, version }: VersionName,
): Promise<PublishedEntry | null> {
  const [row] = await manager.query<EntryRow[]>(
    `select e.id, e.source_id as "sourceId", c.claims, e.given_claims as "givenClaims", size.*,
       latest.status, latest.version_key as "versionKey"
     from source s
     join entry e on e.source_id = s.id and e.type = $1 and e.name = $2
     join claim_set c on c.id = e.claim_set_id
     join entry_version latest on latest.entry_id = e.id and latest.is_latest
     cross join lateral (${SIZE_OF_ENTRY('e.id', '$3')}) size
     where s.kind = '${MANAGED_KIND}'`,
    [type, name, version],
  );
  if (!row) return null;
  const { id, sourceId, claims, givenClaims, versions, bytes, hasVersion, status, versionKey } = row;
  return {
    ...{ id, sourceId, claims, hasVersion },
    shownClaims: asGiven(claims, givenClaims),
    size: { versions, bytes },
    latest: { status, versionKey },
  };
}

/** An entry to insert. */
export interface NewEntry {
  readonly sourceId: number;
  /** The claims as they were given. */
  readonly claims: Claims;
}

/**
 * Inserts an entry and returns its id.
 *
 * @param claimSetId must be locked.
 */
export async function insertEntry(
  manager: EntityManager,
  { type, name }: EntryName,
  { sourceId, claims }: NewEntry,
  claimSetId: number,
): Promise<string> {
  const entry = manager.create(Entry, { sourceId, type, name, claimSetId, givenClaims: givenForm(claims) });
  await manager.insert(Entry, entry);
  return entry.id;
}

/** A version to insert, with what the database does not know. */
export interface NewVersion {
  readonly incoming: IncomingVersion;
  readonly publishedBy: Publisher | null;
  readonly now: Date;
}

/**
 * Inserts a version that the entry of a locked name does not have yet.
 *
 * @param latest the current latest version; null for a new entry.
 */
export async function insertVersion(
  manager: EntityManager,
  entryId: string,
  { incoming, publishedBy, now }: NewVersion,
  latest: PublishedEntry['latest'] | null,
): Promise<EntryVersion> {
  const columns = versionColumns(incoming, now);
  const isLatest = latest === null || precedes(columns, latest);
  if (isLatest && latest !== null)
    await manager.update(EntryVersion, { entryId, isLatest: true }, { isLatest: false });
  const document = incoming.document.toString();
  const summary = isLatest ? summaryOf({ ...incoming, document }) : null;
  const version = manager.create(EntryVersion, {
    ...columns,
    entryId,
    document,
    publishedBy,
    isLatest,
    summary,
  });
  await manager.insert(EntryVersion, version);
  return version;
}
