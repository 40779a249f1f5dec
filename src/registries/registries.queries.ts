import type { EntityManager } from 'typeorm';
import { Registry } from './registry.entity.js';
import { firstRows } from '../database/bulk.js';
import type { Origin } from '../config/config.js';

/** Bytes per source name: a DNS label, its quotes and a comma. */
const MAX_SOURCE_NAME = 66;

/** SQL: the ids of the first registries in `:ids`, up to 1 MiB in total but at least one. */
export const FIRST_REGISTRIES = `select id from (${firstRows(
  'r.id',
  `octet_length(r::text) + octet_length(c.claims::text)
    + (select count(*) * ${MAX_SOURCE_NAME} from registry_source p where p.registry_id = r.id)`,
  `unnest(:ids::int[]) with ordinality asked(id, number) join registry r on r.id = asked.id
  join claim_set c on c.id = r.claim_set_id`,
  'asked.number',
)}) listed`;

/** Returns the ids of the registries of this origin that contain one of these sources, ordered by name. */
export async function registriesWith(
  manager: EntityManager,
  sourceIds: readonly number[],
  origin: Origin,
): Promise<number[]> {
  const registries = await manager
    .createQueryBuilder(Registry, 'registry')
    .select('registry.id')
    .where({ origin })
    .andWhere(
      'exists (select from registry_source where registry_id = registry.id and source_id = any(:sourceIds))',
    )
    .setParameters({ sourceIds })
    .orderBy('registry.name')
    .getMany();
  return registries.map(({ id }) => id);
}
