import type { EntityManager, SelectQueryBuilder } from 'typeorm';
import { MANAGED_KIND, type SettingsOf } from '../source-kinds/kinds.js';
import { Source } from './source.entity.js';
import { firstRows } from '../database/bulk.js';

/** SQL: the ids of the first sources in `:ids`, up to 1 MiB in total but at least one. */
export const FIRST_SOURCES = `select id from (${firstRows(
  's.id',
  'octet_length(s::text) + octet_length(c.claims::text) + octet_length(y.skipped::text)',
  `unnest(:ids::int[]) with ordinality asked(id, number) join source s on s.id = asked.id
  join claim_set c on c.id = s.claim_set_id join source_sync y on y.source_id = s.id`,
  'asked.number',
)}) listed`;

/** Selects a source without its settings, and takes the lock that every change to its entries takes. */
export function lockSource(manager: EntityManager, id: number): SelectQueryBuilder<Source> {
  return manager
    .createQueryBuilder(Source, 'source')
    .select(['source.id', 'source.name', 'source.kind', 'source.claimSetId', 'source.admission'])
    .innerJoinAndSelect('source.claimSet', 'claimSet')
    .where({ id })
    .setLock('for_no_key_update', undefined, ['source']);
}

/** The managed source, as publishing needs it. */
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
