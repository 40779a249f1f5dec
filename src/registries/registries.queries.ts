import type { EntityManager } from 'typeorm';
import { asGiven, type Claims } from '../claims/claims.js';
import type { RegistryConfig } from '../config/config.js';
import { type OrderedRows, readFirst } from '../database/bulk.js';
import type { Origin } from '../sources/source.entity.js';
import { Registry } from './registry.entity.js';

/** A registry as the admin API shows it. */
export interface ShownRegistry extends Pick<
  RegistryConfig,
  'anonymousClaims' | 'keys' | 'publishClaims' | 'marketplace'
> {
  readonly name: string;
  /** In order of precedence. */
  readonly sourceNames: readonly string[];
  /** The claims as they were given. */
  readonly shownClaims: Claims;
  readonly origin: Origin;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

const FIRST_REGISTRIES: OrderedRows = {
  columns: `r.name, n.names as "sourceNames", r.claim_set_id as "claimSetId", c.claims, r.given_claims as "givenClaims",
    r.anonymous_claims as "anonymousClaims", r.keys, r.publish_claims as "publishClaims",
    r.marketplace, r.origin,
    r.created_at as "createdAt", r.updated_at as "updatedAt"`,
  bytes: `octet_length(n.names::text) + 2 * octet_length(c.claims::text) + octet_length(r.keys::text)
    + coalesce(octet_length(r.anonymous_claims::text), 0) + coalesce(octet_length(r.publish_claims::text), 0)
    + coalesce(octet_length(r.marketplace::text), 0)`,
  from: `unnest($1::int[]) with ordinality asked(id, number) join registry r on r.id = asked.id
  join claim_set c on c.id = r.claim_set_id
  cross join lateral (
    select coalesce(json_agg(s.name order by p.position), '[]') as names
    from registry_source p join source s on s.id = p.source_id where p.registry_id = r.id
  ) n`,
  order: 'asked.number',
};

/** Returns the first of these registries that exist: as many as take up to 1 MiB, and at least one. */
export async function firstRegistries(
  manager: EntityManager,
  ids: readonly number[],
): Promise<(ShownRegistry & { readonly claimSetId: number })[]> {
  type Row = Omit<ShownRegistry, 'shownClaims'> & {
    claimSetId: number;
    claims: Claims;
    givenClaims: Claims | null;
  };
  const rows = await readFirst<Row>(manager, FIRST_REGISTRIES, [ids]);
  return rows.map((row) => ({ ...row, shownClaims: asGiven(row.claims, row.givenClaims) }));
}

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
