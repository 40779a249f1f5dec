import type { EntityManager, SelectQueryBuilder } from 'typeorm';
import type { ClaimSet, ClaimSetsRepository } from '../claim-sets/claim-sets.repository.js';
import { firstRows } from '../database/statements.js';
import { KINDS, MANAGED_KIND, type SettingsOf } from '../source-kinds/kinds.js';
import type { SourceStates } from './source-states.queries.js';
import { Source } from './source.entity.js';

/** SQL: the ids of the first of the sources `:ids`: up to 1 MiB in total, but at least one. */
export const FIRST_SOURCES = `select id from (${firstRows(
  's.id',
  'octet_length(s::text) + octet_length(c.claims::text) + octet_length(y.skipped::text)',
  `unnest(:ids::int[]) with ordinality asked(id, number) join source s on s.id = asked.id
  join claim_set c on c.id = s.claim_set_id join source_sync y on y.source_id = s.id`,
  'asked.number',
)}) listed`;

/** Selects a source, without its settings, with the lock of whoever changes its entries. */
export function lockSource(manager: EntityManager, id: number): SelectQueryBuilder<Source> {
  return manager
    .createQueryBuilder(Source, 'source')
    .select(['source.id', 'source.name', 'source.kind', 'source.claimSetId', 'source.admission'])
    .innerJoinAndSelect('source.claimSet', 'claimSet')
    .where({ id })
    .setLock('for_no_key_update', undefined, ['source']);
}

/** The managed source, as publications need it. */
export interface ManagedSource {
  readonly id: number;
  readonly name: string;
  readonly settings: SettingsOf<typeof MANAGED_KIND>;
}

/** Returns the managed source with a shared lock: it cannot be removed until the transaction ends. */
export async function shareManaged(manager: EntityManager): Promise<ManagedSource | null> {
  const source = await manager.findOne(Source, {
    select: { id: true, name: true, settings: true },
    where: { kind: MANAGED_KIND },
    lock: { mode: 'for_key_share' },
  });
  return source as ManagedSource | null;
}

/** Returns the registries that contain a source, without their claims, ordered by name. */
export async function registriesOf(
  manager: EntityManager,
  sourceId: number,
): Promise<{ readonly name: string; readonly claimSetId: number }[]> {
  return manager.query(
    `select r.name, r.claim_set_id as "claimSetId"
     from registry_source held join registry r on r.id = held.registry_id
     where held.source_id = $1
     order by r.name`,
    [sourceId],
  );
}

/**
 * Increases the revision of a source, which invalidates its cached views and pages in every replica. Runs inside the
 * transaction that changes the source's entries.
 */
export async function bumpRevision(manager: EntityManager, sourceId: number): Promise<void> {
  await manager.increment(Source, { id: sourceId }, 'revision', 1);
}

/**
 * Sets the claim set of every entry of a source whose kind passes its claims to entries (reference/access). Runs inside
 * the transaction that changes the source.
 *
 * @returns the number of changed entries.
 */
export async function setInheritedClaims(
  manager: EntityManager,
  sourceId: number,
  claimSetId: number,
): Promise<number> {
  const [, count] = await manager.query<[unknown[], number]>(
    `update entry set claim_set_id = $2, revision = (select revision + 1 from source where id = $1)
     where source_id = $1 and claim_set_id <> $2`,
    [sourceId, claimSetId],
  );
  return count;
}

/**
 * Applies changed claims of a source to the entries that inherit them (reference/access). If the source has not been synced
 * with its current settings and filter, its entries are hidden until the next successful sync, because they may come
 * from a different upstream. Runs inside the transaction that changes the source.
 *
 * @param source the source with its new settings.
 */
export async function inheritClaims(
  manager: EntityManager,
  { id, kind }: Source,
  claimSet: ClaimSet,
  { claimSets, states }: { readonly claimSets: ClaimSetsRepository; readonly states: SourceStates },
): Promise<void> {
  if (!KINDS[kind].inheritsClaims) return;
  const isRead = await states.isRead(manager, id);
  const inherited = isRead ? claimSet : await claimSets.findOrCreate(manager, {});
  await setInheritedClaims(manager, id, inherited.id);
}
