import type { Publisher } from '../audit/audit-event.js';
import { asGiven, type Claims, givenForm } from '../claims/claims.js';
import type { Queries } from '../database/statements.js';
import type { EntryName, IncomingVersion, VersionName } from '../documents/entry-types.js';
import type { Status } from '../documents/statuses.js';
import { MANAGED_KIND } from '../source-kinds/kinds.js';
import type { EntrySize } from './entry-limits.js';
import { precedes } from './entry-status.queries.js';
import { EntryVersion, versionColumns } from './entry.entity.js';
import { SIZE_OF_ENTRY } from './entry-documents.queries.js';

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
  statements: Queries,
  { type, name, version }: VersionName,
): Promise<PublishedEntry | null> {
  const [row] = await statements.query<EntryRow[]>(
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

/** An entry to insert. Its claim set is locked. */
export interface NewEntry {
  readonly sourceId: number;
  readonly claimSetId: number;
  /** The claims as they were given. */
  readonly claims: Claims;
}

export async function insertEntry(
  statements: Queries,
  { type, name }: EntryName,
  { sourceId, claimSetId, claims }: NewEntry,
): Promise<void> {
  const given = givenForm(claims);
  await statements.query(
    `insert into entry (source_id, type, name, claim_set_id, given_claims) values ($1, $2, $3, $4, $5)`,
    [sourceId, type, name, claimSetId, given && JSON.stringify(given)],
  );
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
  statements: Queries,
  sourceId: number,
  { incoming, publishedBy, now }: NewVersion,
  latest: PublishedEntry['latest'] | null,
): Promise<EntryVersion> {
  const { type, name } = incoming;
  const columns = { ...versionColumns(incoming, now), document: incoming.document.toString() };
  const isLatest = latest === null || precedes(columns, latest);
  const OF_ENTRY = `select id from entry where source_id = $1 and type = $2 and name = $3`;
  const deposed =
    isLatest && latest !== null
      ? statements.query(
          `update entry_version set is_latest = false where is_latest and entry_id = (${OF_ENTRY})`,
          [sourceId, type, name],
        )
      : undefined;
  const [[inserted]] = await Promise.all([
    statements.query<{ id: string; entryId: string }[]>(
      `insert into entry_version (entry_id, version, version_key, document, digest, search, status, status_message,
         status_changed_at, published_at, updated_at, published_by, is_latest)
       values ((${OF_ENTRY}), $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
       returning id, entry_id as "entryId"`,
      [
        ...[sourceId, type, name],
        ...[
          columns.version,
          columns.versionKey,
          incoming.document.toString(),
          columns.digest,
          columns.search,
        ],
        ...[columns.status, columns.statusMessage],
        ...[columns.statusChangedAt, columns.publishedAt, columns.updatedAt],
        ...[publishedBy && JSON.stringify(publishedBy), isLatest],
      ],
    ),
    deposed,
  ]);
  return Object.assign(new EntryVersion(), { ...columns, ...inserted, publishedBy, isLatest });
}
