import { isDeepStrictEqual } from 'node:util';
import type { EntityManager } from 'typeorm';
import { internClaimSet } from '../claim-sets/claim-set.queries.js';
import type { RegistryConfig } from '../config/config.js';
import type { Origin } from '../sources/source.entity.js';

/** The only writer of registry rows. Runs inside its caller's transaction; every source named must be there. */
export class RegistryWriter {
  /**
   * @param position the place among the registries of the configuration; 0 for those made through the API, which are
   *   ordered by age.
   */
  async put(
    manager: EntityManager,
    declared: RegistryConfig,
    origin: Origin,
    position: number,
  ): Promise<'created' | 'changed' | 'moved' | 'unchanged'> {
    const claimSetId = await internClaimSet(manager, declared.claims);
    const [found] = await manager.query<{ position: number; claimSetId: number; sources: string[] }[]>(
      `select r.position, r.claim_set_id as "claimSetId", coalesce((
         select json_agg(s.name order by rs.position) from registry_source rs join source s on s.id = rs.source_id
         where rs.registry_id = r.id), '[]') as sources
       from registry r where r.name = $1`,
      [declared.name],
    );
    const same =
      found !== undefined &&
      isDeepStrictEqual(found.sources, [...declared.sources]) &&
      found.claimSetId === claimSetId;
    if (same && found.position === position) return 'unchanged';
    const [stored] = await manager.query<{ id: number }[]>(
      `insert into registry (name, claim_set_id, origin, position) values ($1, $2, $3, $4)
       on conflict (name) do update set claim_set_id = $2, position = $4, revision = registry.revision + 1,
         updated_at = now()
       returning id`,
      [declared.name, claimSetId, origin, position],
    );
    await manager.query(`delete from registry_source where registry_id = $1`, [stored?.id]);
    await manager.query(
      `insert into registry_source (registry_id, position, source_id)
       select $1, n.position, s.id from unnest($2::text[]) with ordinality as n(name, position)
       join source s on s.name = n.name`,
      [stored?.id, declared.sources],
    );
    if (!found) return 'created';
    return same ? 'moved' : 'changed';
  }
}
