import { Inject, Injectable } from '@nestjs/common';
import type { ConfigType } from '@nestjs/config';
import { InjectRepository } from '@nestjs/typeorm';
import { type EntityManager, Repository } from 'typeorm';
import type { Claims } from '../claims/claims.js';
import type { MarketplaceConfig } from '../config/config.js';
import type { RegistryKey } from '../config/registry-keys.js';
import { limitsConfig } from '../config/slices.js';
import { ON_PRIMARY } from '../database/primary.js';
import { PreparedStatements } from '../database/statements.js';
import { ENTRY_TYPE_NAMES } from '../documents/entry-types.js';
import { ApiError } from '../http/errors.js';
import { OpenAccess } from '../registries/open-access.js';
import { type Origin, Source } from '../sources/source.entity.js';
import { SourcePartition } from './source-partition.entity.js';
import type { StorableText } from '../validation/storable-text.js';

/**
 * SQL: identifies the PostgreSQL server start and the table files. After a restore, or a failover that lost
 * transactions, ids and revisions may be reused for different rows, so caches from an earlier epoch are invalid.
 * Recreated tables and copied databases have different file paths.
 */
export const DATABASE_EPOCH = `concat_ws(' ', extract(epoch from pg_postmaster_start_time()), pg_relation_filepath('claim_set'),
    pg_relation_filepath('source'), pg_relation_filepath('source_partition'))`;

/** A registry with the state of its sources, as read by one statement. */
export interface RegistryState {
  readonly name: string;
  readonly claims: Claims;
  readonly origin: Origin;
  /** Claims of callers without a token; null if a token is required. */
  readonly anonymousClaims: Claims | null;
  readonly keys: readonly RegistryKey[];
  readonly marketplace: MarketplaceConfig | null;
  /** Changes with every change to the registry's row, including its claims. */
  readonly version: string;
  /** In registry order. */
  readonly sourceIds: readonly number[];
  /** One revision per source, which rises with every change to the source's partitions. */
  readonly partitionRevisions: readonly string[];
  /** `DATABASE_EPOCH`; ids are unique only within it. */
  readonly databaseEpoch: string;
  /** The epoch and the sources with their revisions; changes whenever an entry or the order of the sources changes. */
  readonly revisions: string;
  /** Characters of the claims and keys, for caches. */
  readonly size: number;
}

/**
 * SQL: computes `RegistryState.revisions` from the ids of the sources in registry order and their revisions in order of id,
 * both arrays. Arrays cost PostgreSQL half as much as text from `string_agg`.
 */
const revisions = (ids: string, ordered: string) =>
  `${DATABASE_EPOCH} || '|' || ${ids}::text || '|' || ${ordered}::text`;

/** SQL: the version of registry `r`. Every update changes the row's `xmin`, so every column is covered. */
const REGISTRY_VERSION = `r.xmin::text`;

/**
 * SQL: whether the sources `$sourceIds`, in this order, are still at `$revisions`; false if one was deleted. For a
 * remembered registry, `$registry` is set: a registry with this name, `$registryVersion` and these sources must also
 * exist. Each statement selects this condition with its rows, in one snapshot; on a standby it fails.
 */
const IS_CURRENT = `${ON_PRIMARY} and ${revisions(
  '$sourceIds::int[]',
  'array(select s.revision from source s where s.id = any($sourceIds::int[]) order by s.id)',
)} = $revisions and ($registry::text is null or exists (
  select from registry r
  where r.name = $registry and ${REGISTRY_VERSION} = $registryVersion
    and array(select source_id from registry_source where registry_id = r.id order by position) = $sourceIds::int[]
))`;

/** SQL: the first common table expression of a statement; selects `isCurrent`. */
export const CURRENCY = `currency as materialized (
  select ${IS_CURRENT} as "isCurrent"
)`;

/**
 * SQL: like `CURRENCY`, but an item of FROM, for statements that refer to it in a join only: PostgreSQL then needs no
 * storage for it.
 */
export const CURRENCY_ITEM = `(select ${IS_CURRENT} as "isCurrent" offset 0) currency`;

/** SQL: false for a remembered view that is no longer current, because the rows read for it would be discarded. */
export const IS_WORTH_READING = `($registry::text is null or (select "isCurrent" from currency))`;

/** SQL: like `IS_WORTH_READING`, for statements that join `CURRENCY_ITEM`. */
export const IS_ITEM_WORTH_READING = `($registry::text is null or currency."isCurrent")`;

/** The partitions of one source. */
export interface PartitionList {
  readonly sourceId: number;
  /** The partition revision of the source. */
  readonly revision: string;
  /** Ascending claim set ids, joined by commas: node-postgres takes five times as long to parse an array. */
  readonly claimSetIds: string;
  /** Claims of the claim sets newer than the requested id, up to a limit. */
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
from source s where s.id = any($1::int[]) and ${ON_PRIMARY}`;

const CLAIMS = `select id, claims from claim_set where id = any($1::int[])`;

const REGISTRY_STATE = `
select r.name, c.claims, r.origin, r.anonymous_claims as "anonymousClaims", r.keys, r.marketplace, ${REGISTRY_VERSION} as version,
  length(concat(c.claims, r.anonymous_claims, r.keys)) as size,
  ${DATABASE_EPOCH} as "databaseEpoch", sources.ids as "sourceIds",
  sources.partitions as "partitionRevisions", sources.revisions
from registry r join claim_set c on c.id = r.claim_set_id
cross join lateral (
  select coalesce(json_agg(s.id order by p.position), '[]') as ids,
    coalesce(json_agg(s.partition_revision::text order by p.position), '[]') as partitions,
    ${revisions(
      "coalesce(array_agg(s.id order by p.position), '{}')",
      "coalesce(array_agg(s.revision order by s.id), '{}')",
    )} as revisions
  from (select source_id, position from registry_source where registry_id = r.id) p
  join source s on s.id = p.source_id
) sources
where r.name = $1 and ${ON_PRIMARY}`;

/** Reads the input for views: registries with their sources' revisions, partitions, and claim sets. */
@Injectable()
export class ViewsQueries {
  constructor(
    @InjectRepository(Source) private readonly stored: Repository<Source>,
    private readonly prepared: PreparedStatements,
    private readonly openAccess: OpenAccess,
  ) {}

  /** Returns the registry, if it exists, with the `anonymous` claims and keys in effect. */
  async registry(name: StorableText): Promise<RegistryState | undefined> {
    const [row] = await this.prepared.query<RegistryState[]>(REGISTRY_STATE, [name]);
    return row && { ...row, ...this.openAccess.inEffect(row) };
  }

  /** Returns the current state of these sources. */
  async sources(
    sourceIds: readonly number[],
  ): Promise<Pick<RegistryState, 'sourceIds' | 'partitionRevisions' | 'databaseEpoch'>> {
    const rows = await this.stored
      .createQueryBuilder('source')
      .select('source.id', 'id')
      .addSelect('source.partitionRevision', 'partitionRevision')
      .addSelect(DATABASE_EPOCH, 'epoch')
      .where(`source.id = any(:sourceIds) and ${ON_PRIMARY}`, { sourceIds })
      .getRawMany<{ id: number; partitionRevision: string; epoch: string }>();
    return {
      sourceIds: rows.map(({ id }) => id),
      partitionRevisions: rows.map(({ partitionRevision }) => partitionRevision),
      databaseEpoch: rows[0]?.epoch ?? '',
    };
  }

  /**
   * Returns the claim sets carried by the entries of these sources; deleted sources are omitted.
   *
   * @param newest highest cached claim set id; the claims of newer claim sets are included.
   */
  async partitions(sourceIds: readonly number[], newest: number): Promise<PartitionList[]> {
    return this.prepared.query<PartitionList[]>(PARTITIONS, [sourceIds, newest]);
  }

  /** Returns the claims of each claim set, by id. */
  async claimsOf(claimSetIds: readonly number[]): Promise<Map<number, Claims>> {
    const rows = await this.prepared.query<{ id: number; claims: Claims }[]>(CLAIMS, [claimSetIds]);
    return new Map(rows.map(({ id, claims }) => [id, claims]));
  }
}

const RETRY_AFTER_SECONDS = '60';

/** Limits the partitions that publishers can create, since all of them must be evaluated for each caller's view. */
@Injectable()
export class PartitionLimit {
  constructor(@Inject(limitsConfig.KEY) private readonly limits: ConfigType<typeof limitsConfig>) {}

  /**
   * Enforces `claimSetsPerSource` (reference/configuration). Call it in the transaction that has just assigned this claim set to an
   * entry. Triggers have locked the source, so no other transaction can add a claim set. A claim set that other entries
   * already carry is always allowed.
   *
   * @throws ApiError 429 `too_many_requests`.
   */
  async check(manager: EntityManager, sourceId: number, claimSetId: number): Promise<void> {
    const carrying = await manager.query<object[]>(
      `select 1 from unnest($3::text[]) t(type)
       join entry e on e.source_id = $1 and e.type = t.type and e.claim_set_id = $2 limit 2`,
      [sourceId, claimSetId, ENTRY_TYPE_NAMES],
    );
    if (carrying.length > 1) return;
    if ((await manager.countBy(SourcePartition, { sourceId })) <= this.limits.claimSetsPerSource) return;
    throw new ApiError(
      'too_many_requests',
      `The managed source has reached its limit of ${this.limits.claimSetsPerSource} distinct claims: reuse existing claims, or delete entries`,
      undefined,
      { headers: { 'Retry-After': RETRY_AFTER_SECONDS } },
    );
  }
}
