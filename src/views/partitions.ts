import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Partition } from './view.js';
import type { Claims } from '../claims/claims.js';
import { SharedReads } from '../database/shared-reads.js';
import { type RegistryState, ViewsQueries } from './views.queries.js';

/** Ids that may be cached, over all sources and registries. */
const MAX_CACHED_IDS = 500_000;
const MAX_CACHED_CLAIM_SETS = 50_000;

/** The entries of one source that carry one claim set. */
export interface LabeledPartition extends Partition {
  readonly claims: Claims;
}

/** The partitions of the sources of a registry, in their order. */
export interface PartitionList {
  readonly partitions: readonly LabeledPartition[];
  /** Every key of their claims, sorted: what a view of them can depend on. */
  readonly keys: readonly string[];
  /** Equal for equal lists and for no others. */
  readonly digest: string;
}

/**
 * Knows the partitions of registries. A change of a source is a reason to ask whether it has more of them than before, and
 * mostly it has not; what a claim set asks for never changes and is asked for once.
 */
@Injectable()
export class Partitions {
  private readonly ofRevisions = new LRUCache<string, PartitionList>({
    maxSize: MAX_CACHED_IDS,
    sizeCalculation: sizeOf,
  });
  private readonly ofCounts = new LRUCache<string, PartitionList>({
    maxSize: MAX_CACHED_IDS,
    sizeCalculation: sizeOf,
  });
  private readonly claims = new LRUCache<string, Claims>({ max: MAX_CACHED_CLAIM_SETS });

  private readonly pending = new SharedReads<string, PartitionList>();

  constructor(private readonly queries: ViewsQueries) {}

  /** As they were at these revisions of the registry's sources, or later if the registry has changed meanwhile. */
  async of(registry: RegistryState): Promise<PartitionList> {
    const known = this.ofRevisions.get(registry.revisions);
    // What is under way may have begun before this request looked, but not before these revisions were there.
    return known ?? this.pending.once(registry.revisions, () => this.count(registry));
  }

  private async count(registry: RegistryState): Promise<PartitionList> {
    const { sourceIds } = registry;
    const counts = await this.queries.partitionCounts(sourceIds);
    const key = `${registry.databaseEpoch}|${sourceIds.map((id) => `${id}:${counts.get(id) ?? 0}`).join()}`;
    const list = this.ofCounts.get(key) ?? listOf(await this.read(sourceIds, registry.databaseEpoch));
    this.ofCounts.set(key, list);
    this.ofRevisions.set(registry.revisions, list);
    return list;
  }

  /** Those of these sources, as they are now. */
  async ofSources(sourceIds: readonly number[]): Promise<LabeledPartition[]> {
    return this.read(sourceIds, null);
  }

  private async read(
    sourceIds: readonly number[],
    databaseEpoch: string | null,
  ): Promise<LabeledPartition[]> {
    const claimSetIds = await this.queries.partitions(sourceIds);
    const claims = await this.claimsOf(new Set([...claimSetIds.values()].flat()), databaseEpoch);
    return sourceIds.flatMap((sourceId) =>
      (claimSetIds.get(sourceId) ?? []).flatMap((claimSetId) => {
        const required = claims.get(claimSetId);
        return required ? [{ sourceId, claimSetId, claims: required }] : [];
      }),
    );
  }

  private async claimsOf(
    claimSetIds: ReadonlySet<number>,
    databaseEpoch: string | null,
  ): Promise<Map<number, Claims>> {
    const found = new Map<number, Claims>();
    for (const id of claimSetIds) {
      const known = this.claims.get(`${databaseEpoch}|${id}`);
      if (known) found.set(id, known);
    }
    const unknown = [...claimSetIds].filter((id) => !found.has(id));
    if (unknown.length === 0) return found;
    for (const [id, claims] of await this.queries.claimsOf(unknown)) {
      found.set(id, claims);
      if (databaseEpoch !== null) this.claims.set(`${databaseEpoch}|${id}`, claims);
    }
    return found;
  }
}

function listOf(partitions: readonly LabeledPartition[]): PartitionList {
  const keys = [...new Set(partitions.flatMap(({ claims }) => Object.keys(claims)))].sort();
  return { partitions, keys, digest: digestOf(partitions) };
}

/** Equal for equal lists of partitions, in this order, and for no others. */
export function digestOf(partitions: readonly Partition[]): string {
  const text = partitions.map(({ sourceId, claimSetId }) => `${sourceId}:${claimSetId}`).join();
  return createHash('sha256').update(text).digest('base64url');
}

function sizeOf({ partitions }: PartitionList): number {
  return partitions.length + 1;
}
