import type { EntityManager } from 'typeorm';
import type { Claims } from '../claims/claims.js';
import type { EntryName, EntryType, VersionName } from '../documents/entry-types.js';
import { batches } from '../entries/writer/catalog-diff.js';
import type { StoredAdmission } from './curation.js';

/** Names per statement. */
const BATCH = 1_000;

/** Returns the names that the source has shown before, by `entryMapKey`. */
export async function knownNames(
  manager: EntityManager,
  sourceId: number,
  names: readonly EntryName[],
): Promise<(EntryName & { readonly type: EntryType })[]> {
  const known: EntryName[] = [];
  for await (const batch of batches(names, BATCH))
    known.push(
      ...(await manager.query<EntryName[]>(
        `select n.type, n.name from unnest($2::text[], $3::text[]) as n(type, name)
         where exists (select 1 from known_name k where k.source_id = $1 and k.type = n.type and k.name = n.name)
           or exists (select 1 from entry e where e.source_id = $1 and e.type = n.type and e.name = n.name)`,
        [sourceId, batch.map(({ type }) => type), batch.map(({ name }) => name)],
      )),
    );
  return known;
}

/** Records names that the source has shown. Names must be distinct. */
export async function rememberNames(
  manager: EntityManager,
  sourceId: number,
  names: readonly EntryName[],
): Promise<void> {
  for await (const batch of batches(names, BATCH))
    await manager.query(
      `insert into known_name (source_id, type, name)
       select $1::int, n.type, n.name from unnest($2::text[], $3::text[]) as n(type, name) on conflict do nothing`,
      [sourceId, batch.map(({ type }) => type), batch.map(({ name }) => name)],
    );
}

/** A stored version whose served document differs from what the upstream sent. */
export interface RewrittenVersion extends VersionName {
  /** SHA-256 of the served document. */
  readonly served: Buffer;
}

/** Returns the stored versions of a source that were rewritten. Reads all documents of the source. */
export async function rewrittenVersions(
  manager: EntityManager,
  sourceId: number,
  marker: string,
): Promise<RewrittenVersion[]> {
  return manager.query<RewrittenVersion[]>(
    `select e.type, e.name, v.version, sha256(convert_to(v.document, 'UTF8')) as served
     from entry e join entry_version v on v.entry_id = e.id
     where e.source_id = $1 and position($2 in v.document) > 0`,
    [sourceId, marker],
  );
}

/** A source while a sync writes its content. */
export interface SyncedSource {
  readonly name: string;
  readonly claims: Claims;
  readonly admission: StoredAdmission | null;
  /** Whether no sync has succeeded yet. */
  readonly isFirst: boolean;
  /** Whether this sync is the first with the current settings. */
  readonly isFresh: boolean;
}

export async function sourceOf(manager: EntityManager, sourceId: number): Promise<SyncedSource> {
  const [source] = await manager.query<SyncedSource[]>(
    `select s.name, c.claims, s.admission, y.last_success_at is null as "isFirst", y.fetch_state is null as "isFresh"
     from source s join source_sync y on y.source_id = s.id join claim_set c on c.id = s.claim_set_id where s.id = $1`,
    [sourceId],
  );
  if (!source) throw new Error('A locked source has disappeared');
  return source;
}
