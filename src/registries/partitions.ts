import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Partition } from '../authz/view.js';
import type { Claims } from '../claims/claims.js';
import { RegistriesQueries, type RegistryRow } from './registries.queries.js';

/** Ids that may be remembered, over all sources and registries. */
const REMEMBERED_IDS = 500_000;
const REMEMBERED_CLAIM_SETS = 50_000;

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
 * Knows the partitions of registries. A change of a source is a reason to ask the database for its list of ids, and mostly
 * finds the list that was there before; what a claim set asks for never changes and is asked for once.
 */
@Injectable()
export class Partitions {
  private readonly ofRevisions = new LRUCache<string, PartitionList>({
    maxSize: REMEMBERED_IDS,
    sizeCalculation: sizeOf,
  });
  private readonly ofDigest = new LRUCache<string, PartitionList>({
    maxSize: REMEMBERED_IDS,
    sizeCalculation: sizeOf,
  });
  private readonly claims = new LRUCache<number, Claims>({ max: REMEMBERED_CLAIM_SETS });

  constructor(private readonly queries: RegistriesQueries) {}

  /** As they were at these revisions of the registry's sources, or later if the registry has changed meanwhile. */
  async of(registry: RegistryRow): Promise<PartitionList> {
    const known = this.ofRevisions.get(registry.revisions);
    if (known) return known;
    const partitions = await this.read(registry.sources.map(({ id }) => id));
    const digest = digestOf(partitions);
    const list = this.ofDigest.get(digest) ?? listOf(await this.label(partitions), digest);
    this.ofDigest.set(digest, list);
    this.ofRevisions.set(registry.revisions, list);
    return list;
  }

  /** Those of these sources, as they are now. */
  async ofSources(sourceIds: readonly number[]): Promise<LabeledPartition[]> {
    return this.label(await this.read(sourceIds));
  }

  private async read(sourceIds: readonly number[]): Promise<Partition[]> {
    const claimSetIds = await this.queries.partitions(sourceIds);
    return sourceIds.flatMap((sourceId) =>
      (claimSetIds.get(sourceId) ?? []).map((claimSetId) => ({ sourceId, claimSetId })),
    );
  }

  private async label(partitions: readonly Partition[]): Promise<LabeledPartition[]> {
    const claimSetIds = [...new Set(partitions.map(({ claimSetId }) => claimSetId))];
    const claims = new Map(claimSetIds.map((id) => [id, this.claims.get(id)]));
    const unknown = claimSetIds.filter((id) => claims.get(id) === undefined);
    if (unknown.length > 0)
      for (const [id, read] of await this.queries.claimsOf(unknown)) {
        claims.set(id, read);
        this.claims.set(id, read);
      }
    return partitions.flatMap((partition) => {
      const required = claims.get(partition.claimSetId);
      return required ? [{ ...partition, claims: required }] : [];
    });
  }
}

function listOf(partitions: readonly LabeledPartition[], digest: string): PartitionList {
  const keys = [...new Set(partitions.flatMap(({ claims }) => Object.keys(claims)))].sort();
  return { partitions, keys, digest };
}

/** Equal for equal lists of partitions, in this order, and for no others. */
export function digestOf(partitions: readonly Partition[]): string {
  const text = partitions.map(({ sourceId, claimSetId }) => `${sourceId}:${claimSetId}`).join();
  return createHash('sha256').update(text).digest('base64url');
}

function sizeOf({ partitions }: PartitionList): number {
  return partitions.length + 1;
}
