import { setTimeout as pause } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { LRUCache } from 'lru-cache';
import { Repository } from 'typeorm';
import { OpenAccess } from '../authz/admin-access.js';
import type { Claims } from '../claims/claims.js';
import type { MarketplaceConfig, Origin } from '../config/config.js';
import type { RegistryKey } from '../config/registry-keys.js';
import { ON_PRIMARY } from '../database/sql-expressions.js';
import { PreparedStatements } from '../database/statements.js';
import { Source } from '../sources/source.entity.js';
import { isStorable, type StorableText } from '../validation/storable-text.js';
import { DATABASE_EPOCH, REGISTRY_VERSION, revisions } from './freshness.queries.js';

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
  /** The sources in registry order. */
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

/** The partitions of one source. */
export interface PartitionList {
  readonly sourceId: number;
  /** The partition revision of the source. */
  readonly revision: string;
  /** Ascending claim set ids, joined by commas: node-postgres takes five times as long to parse an array. */
  readonly claimSetIds: string;
}

const PARTITIONS = `
select s.id as "sourceId", s.partition_revision as revision,
  array_to_string(array(
    select p.claim_set_id from source_partition p where p.source_id = s.id order by p.claim_set_id
  ), ',') as "claimSetIds"
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

  /** Returns the claim sets carried by the entries of these sources; deleted sources are omitted. */
  async partitions(sourceIds: readonly number[]): Promise<PartitionList[]> {
    return this.prepared.query<PartitionList[]>(PARTITIONS, [sourceIds]);
  }

  async claimsOf(claimSetIds: readonly number[]): Promise<Map<number, Claims>> {
    const rows = await this.prepared.query<{ id: number; claims: Claims }[]>(CLAIMS, [claimSetIds]);
    return new Map(rows.map(({ id, claims }) => [id, claims]));
  }
}

/** Limit on cached registries, in characters of their claims, keys and revisions. */
const MAX_CACHED_CHARACTERS = 16 * 1_024 * 1_024;

/** Maximum wait for a running query, whose connection may be hanging. */
const PATIENCE_MS = 2_000;

/**
 * Reads registries with the revisions of their sources, and keeps the last state of each. Requests for a registry that arrive
 * during a query share the next one. It starts after all of them have arrived, so no result is older than its request.
 */
@Injectable()
export class RegistryLookup {
  /** The last query of each registry. */
  private readonly running = new Map<string, Promise<unknown>>();
  /** The query that begins when the last one ends. */
  private readonly next = new Map<string, Promise<RegistryState | undefined>>();
  private readonly states = new LRUCache<string, RegistryState>({
    maxSize: MAX_CACHED_CHARACTERS,
    sizeCalculation: ({ size, revisions }) => 500 + size + 3 * revisions.length,
  });

  constructor(private readonly queries: ViewsQueries) {}

  async find(name: string): Promise<RegistryState | undefined> {
    if (!isStorable(name)) return undefined;
    const next = this.next.get(name) ?? this.readNext(name);
    this.next.set(name, next);
    return next;
  }

  /** Returns the registry as last read; it may have changed or been deleted since. */
  cached(name: string): RegistryState | undefined {
    return this.states.get(name);
  }

  private async readNext(name: StorableText): Promise<RegistryState | undefined> {
    const running = this.running.get(name);
    await (running && Promise.race([running, pause(PATIENCE_MS, undefined, { ref: false })]));
    this.next.delete(name);
    const read = this.queries.registry(name);
    const ended = read
      .catch(() => undefined)
      .then(() => {
        if (this.running.get(name) === ended) this.running.delete(name);
      });
    this.running.set(name, ended);
    const state = await read;
    if (state) this.states.set(name, state);
    else this.states.delete(name);
    return state;
  }
}
