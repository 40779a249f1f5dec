import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Claims } from '../claims/claims.js';
import { SharedReads } from '../database/shared-reads.js';
import type { Partition, View } from './view.js';
import { type RegistryState, ViewsQueries } from './views.queries.js';

/** Partitions that may be cached, over all registries. */
const MAX_CACHED_PARTITIONS = 500_000;
const MAX_CACHED_CLAIM_SETS = 50_000;

/** The entries of one source that carry one claim set, with these claims. */
export interface PartitionWithClaims extends Partition {
  readonly claims: Claims;
}

/** All partitions of the sources of a registry, in the order of the sources. */
export interface RegistryPartitions {
  readonly partitions: readonly PartitionWithClaims[];
  /** Every key of their claims, sorted: what a view of them can depend on. */
  readonly keys: readonly string[];
  /** Equal for equal partitions and for no others. */
  readonly digest: string;
}

/**
 * Knows the partitions of registries. After a change of a source they are counted, and read only if there are more of them than
 * before, which is rare. The claims of a claim set never change and are read once.
 */
@Injectable()
export class Partitions {
  private readonly byRevisions = new LRUCache<string, RegistryPartitions>({
    maxSize: MAX_CACHED_PARTITIONS,
    sizeCalculation: sizeOf,
  });
  private readonly byCounts = new LRUCache<string, RegistryPartitions>({
    maxSize: MAX_CACHED_PARTITIONS,
    sizeCalculation: sizeOf,
  });
  private readonly claims = new LRUCache<string, Claims>({ max: MAX_CACHED_CLAIM_SETS });

  private readonly pending = new SharedReads<string, RegistryPartitions>();

  constructor(private readonly queries: ViewsQueries) {}

  /** As they were at these revisions of the registry's sources, or later if the registry has changed meanwhile. */
  async ofRegistry(registry: RegistryState): Promise<RegistryPartitions> {
    const cached = this.byRevisions.get(registry.revisions);
    // A pending read may have begun before this request, but not before these revisions were there.
    return cached ?? this.pending.share(registry.revisions, () => this.refresh(registry));
  }

  /** Those of these sources, as they are now. */
  async ofSources(sourceIds: readonly number[]): Promise<PartitionWithClaims[]> {
    return this.read(sourceIds, null);
  }

  private async refresh({ sourceIds, databaseEpoch, revisions }: RegistryState): Promise<RegistryPartitions> {
    const counts = await this.queries.partitionCounts(sourceIds);
    const key = `${databaseEpoch}|${sourceIds.map((id) => `${id}:${counts.get(id) ?? 0}`).join()}`;
    const found = this.byCounts.get(key) ?? withDigest(await this.read(sourceIds, databaseEpoch));
    this.byCounts.set(key, found);
    this.byRevisions.set(revisions, found);
    return found;
  }

  /** @param databaseEpoch in which claim sets may be cached; null for one that is not known. */
  private async read(
    sourceIds: readonly number[],
    databaseEpoch: string | null,
  ): Promise<PartitionWithClaims[]> {
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
      const cached = this.claims.get(`${databaseEpoch}|${id}`);
      if (cached) found.set(id, cached);
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

/** Whether two views are of the same partitions in the same order. */
export function samePartitions(one: View, other: View): boolean {
  return partitionsDigest(one.partitions) === partitionsDigest(other.partitions);
}

/** Equal for equal lists of partitions, in this order, and for no others. */
export function partitionsDigest(partitions: readonly Partition[]): string {
  const text = partitions.map(({ sourceId, claimSetId }) => `${sourceId}:${claimSetId}`).join();
  return createHash('sha256').update(text).digest('base64url');
}

function withDigest(partitions: readonly PartitionWithClaims[]): RegistryPartitions {
  const keys = [...new Set(partitions.flatMap(({ claims }) => Object.keys(claims)))].sort();
  return { partitions, keys, digest: partitionsDigest(partitions) };
}

function sizeOf({ partitions }: RegistryPartitions): number {
  return partitions.length + 1;
}
