import type { EntityManager } from 'typeorm';
import type { Claims } from '../claims/claims.js';
import type { AdmissionConfig } from '../config/config.js';
import { insertMany } from '../database/bulk.js';
import type { EntryName, EntryType, VersionName } from '../documents/entry-types.js';
import { Entry } from '../entry-store/entry.entity.js';
import { batches } from '../limits/batches.js';
import { Source } from '../sources/source.entity.js';
import { KnownName } from './admission.entity.js';

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
    await insertMany(
      manager,
      KnownName,
      batch.map(({ type, name }) => ({ sourceId, type, name })),
      'on conflict do nothing',
    );
}

/** A stored version whose served document differs from what the upstream sent. */
export interface RewrittenVersion extends VersionName {
  /** SHA-256 of the served document. */
  readonly served: Buffer;
}

/** Returns the stored versions of a source that were rewritten. Reads every document of the source. */
export async function rewrittenVersions(
  manager: EntityManager,
  sourceId: number,
  marker: string,
): Promise<RewrittenVersion[]> {
  return manager
    .createQueryBuilder(Entry, 'entry')
    .innerJoin('entry.versions', 'version')
    .select('entry.type', 'type')
    .addSelect('entry.name', 'name')
    .addSelect('version.version', 'version')
    .addSelect(`sha256(convert_to(version.document, 'UTF8'))`, 'served')
    .where({ sourceId })
    .andWhere('position(:marker in version.document) > 0', { marker })
    .getRawMany();
}

/** A source while a sync writes its content. */
export interface SyncedSource {
  readonly name: string;
  readonly claims: Claims;
  readonly admission: AdmissionConfig | null;
  /** Whether no sync has succeeded yet. */
  readonly isFirst: boolean;
  /** Whether this sync is the first with the current settings. */
  readonly isFresh: boolean;
}

export async function sourceOf(manager: EntityManager, sourceId: number): Promise<SyncedSource> {
  const source = await manager
    .createQueryBuilder(Source, 'source')
    .innerJoin('source.claimSet', 'claimSet')
    .innerJoin('source.state', 'state')
    .select('source.name', 'name')
    .addSelect('claimSet.claims', 'claims')
    .addSelect('source.admission', 'admission')
    .addSelect('state.lastSuccessAt is null', 'isFirst')
    .addSelect('state.fetchState is null', 'isFresh')
    .where({ id: sourceId })
    .getRawOne<SyncedSource>();
  if (!source) throw new Error('A locked source has disappeared');
  return source;
}
