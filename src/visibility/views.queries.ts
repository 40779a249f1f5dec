import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { DataSource, type EntityManager } from 'typeorm';
import type { Claims } from '../claims/claims.js';
import type { RegistryKey } from '../config/registry-keys.js';
import { limitsConfig } from '../config/slices.js';
import { PreparedStatements } from '../database/statements.js';
import { ENTRY_TYPE_NAMES } from '../documents/entry-types.js';
import { ApiError } from '../http/errors.js';

/**
 * SQL: which run of PostgreSQL answers, with which tables. After a restore, or a failover that lost the last transactions, ids
 * and revisions begin again and mean something else: what was cached before must not be used. A table that is created or
 * filled anew is another file, and so is each of a copy of the database that takes its place: the path names the database too.
 */
export const DATABASE_EPOCH = `concat_ws(' ', extract(epoch from pg_postmaster_start_time()), pg_relation_filepath('claim_set'),
    pg_relation_filepath('source'), pg_relation_filepath('source_partition'))`;

/** A registry as consumers enter it, with the state of its sources. */
export interface RegistryState {
  readonly name: string;
  readonly claims: Claims;
  /** What a caller without a token holds; null: there is none. */
  readonly anonymousClaims: Claims | null;
  readonly keys: readonly RegistryKey[];
  /** Of its row: another after every change of it, its claims among them. */
  readonly version: string;
  /** In the registry's order. */
  readonly sourceIds: readonly number[];
  /** Of each of them, which rises with every change of its partitions. */
  readonly partitionRevisions: readonly string[];
  /** Which run of PostgreSQL has answered, with which tables: ids mean what they do within it. */
  readonly databaseEpoch: string;
  /** That, and the sources with their revisions: equal as long as none of their entries, nor their order, has changed. */
  readonly revisions: string;
}

/** SQL, an aggregate over sources `s` at positions `p.position`: `RegistryState.revisions`. */
const REVISIONS = `${DATABASE_EPOCH}
    || '|' || coalesce(string_agg(s.id || ':' || s.revision, ',' order by p.position), '')`;

/**
 * SQL: the version of the registry `r`. Every change of a row gives it another `xmin`, so what is read of a registry, whatever that
 * may be one day, is covered.
 */
const REGISTRY_VERSION = `r.xmin::text`;

/**
 * SQL: whether the sources `$sourceIds`, in this order, are still at `$revisions`. False also when one of them is gone, since its
 * revision is missing then. Where the registry was not looked up for this request, `$registry` names it: then also whether it is
 * still there, at `$registryVersion` and with these sources. Statements select it beside what they read, from the same snapshot.
 */
const IS_CURRENT = `(
  select ${REVISIONS} = $revisions
  from unnest($sourceIds::int[]) with ordinality p(id, position) join source s on s.id = p.id
) and ($registry::text is null or exists (
  select from registry r
  where r.name = $registry and ${REGISTRY_VERSION} = $registryVersion
    and array(select source_id from registry_source where registry_id = r.id order by position) = $sourceIds::int[]
))`;

/** SQL, the first of the common tables of a statement: `isCurrent`. */
export const CURRENCY = `currency as materialized (
  select ${IS_CURRENT} as "isCurrent"
)`;

/** SQL: false where a view that was only remembered is not current. What it would show is not worth reading then. */
export const IS_WORTH_READING = `($registry::text is null or (select "isCurrent" from currency))`;

/** The partitions of one source. */
export interface PartitionList {
  readonly sourceId: number;
  /** The partition revision of the source that they were read at. */
  readonly revision: string;
  /** Their claim sets, in ascending order, separated by commas: node-postgres takes five times as long to make numbers of a list. */
  readonly claimSetIds: string;
  /** The claims of those of them that were made after the one that was asked about; not of all when they are very many. */
  readonly newClaims: Readonly<Record<string, Claims>>;
}

const MAX_NEW_CLAIMS = 1_000;

const PARTITIONS = `
select s.id as "sourceId", s.partition_revision as revision,
  array_to_string(array(
    select p.claim_set_id from source_partition p where p.source_id = s.id order by p.claim_set_id
  ), ',') as "claimSetIds", (
    select coalesce(json_object_agg(c.id, c.claims), '{}') from (
      select p.claim_set_id from source_partition p
      where p.source_id = s.id and p.claim_set_id > $2 order by p.claim_set_id limit ${MAX_NEW_CLAIMS}
    ) p join claim_set c on c.id = p.claim_set_id
  ) as "newClaims"
from source s where s.id = any($1::int[])`;

const CLAIMS = `select id, claims from claim_set where id = any($1::int[])`;

const REGISTRY_STATES = `
select r.name, c.claims, r.anonymous_claims as "anonymousClaims", r.keys, ${REGISTRY_VERSION} as version,
  ${DATABASE_EPOCH} as "databaseEpoch", sources.ids as "sourceIds",
  sources.partitions as "partitionRevisions", sources.revisions
from registry r join claim_set c on c.id = r.claim_set_id
cross join lateral (
  select coalesce(json_agg(s.id order by p.position), '[]') as ids,
    coalesce(json_agg(s.partition_revision::text order by p.position), '[]') as partitions, ${REVISIONS} as revisions
  from (select source_id, position from registry_source where registry_id = r.id) p
  join source s on s.id = p.source_id
) sources
where r.name = any($1)`;

/** What views are computed from: registries with the revisions of their sources, partitions, claim sets. */
@Injectable()
export class ViewsQueries {
  constructor(
    private readonly dataSource: DataSource,
    private readonly prepared: PreparedStatements,
  ) {}

  /** The registries of these names that exist. */
  async registries(names: readonly string[]): Promise<Map<string, RegistryState>> {
    const rows = await this.prepared.query<RegistryState[]>(REGISTRY_STATES, [names]);
    return new Map(rows.map((row) => [row.name, row]));
  }

  /** These sources as they are now, as a registry of them would have them. */
  async sources(
    sourceIds: readonly number[],
  ): Promise<Pick<RegistryState, 'sourceIds' | 'partitionRevisions' | 'databaseEpoch'>> {
    const rows = await this.dataSource.query<{ id: number; partitionRevision: string; epoch: string }[]>(
      `select s.id, s.partition_revision as "partitionRevision", ${DATABASE_EPOCH} as epoch
       from source s where s.id = any($1::int[])`,
      [sourceIds],
    );
    return {
      sourceIds: rows.map(({ id }) => id),
      partitionRevisions: rows.map(({ partitionRevision }) => partitionRevision),
      databaseEpoch: rows[0]?.epoch ?? '',
    };
  }

  /**
   * The claim sets that entries of these sources carry; nothing of a source that is gone.
   *
   * @param newest claim set whose claims are known: ids rise, and most that are not known are newer.
   */
  async partitions(sourceIds: readonly number[], newest: number): Promise<PartitionList[]> {
    return this.prepared.query<PartitionList[]>(PARTITIONS, [sourceIds, newest]);
  }

  /** The claims of these claim sets. */
  async claimsOf(claimSetIds: readonly number[]): Promise<Map<number, Claims>> {
    const rows = await this.prepared.query<{ id: number; claims: Claims }[]>(CLAIMS, [claimSetIds]);
    return new Map(rows.map(({ id, claims }) => [id, claims]));
  }
}

const RETRY_AFTER_SECONDS = '60';

/** Keeps whoever may publish from making any number of partitions, which every read of others would have to judge. */
@Injectable()
export class PartitionLimit {
  constructor(@Inject(limitsConfig.KEY) private readonly limits: ConfigType<typeof limitsConfig>) {}

  /**
   * contract §2, `claimSetsPerSource`: asked in the transaction that has just given an entry this claim set. The triggers have locked
   * the source by then, so nobody adds another one at the same time. A claim set that other entries carry already is always fine.
   *
   * @throws ApiError 429 `too_many_requests`.
   */
  async check(manager: EntityManager, sourceId: number, claimSetId: number): Promise<void> {
    const [row] = await manager.query<{ exceeded: boolean }[]>(
      `select case when (select count(*) from (
           select 1 from unnest($4::text[]) t(type) join entry e
             on e.source_id = $1 and e.type = t.type and e.claim_set_id = $2 limit 2) carrying) > 1 then false
         else (select count(*) from source_partition where source_id = $1) > $3 end as exceeded`,
      [sourceId, claimSetId, this.limits.claimSetsPerSource, ENTRY_TYPE_NAMES],
    );
    if (row?.exceeded !== false)
      throw new ApiError(
        'too_many_requests',
        `The entries of the managed source may carry ${this.limits.claimSetsPerSource} different claims at a time, and do: use claims that are there already, or remove some`,
        undefined,
        { headers: { 'Retry-After': RETRY_AFTER_SECONDS } },
      );
  }
}
