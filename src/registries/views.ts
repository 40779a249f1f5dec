import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Caller } from '../auth/caller.js';
import { AccessPolicy } from '../authz/access-policy.js';
import type { Partition, View } from '../authz/view.js';
import { type LabeledPartition, RegistriesQueries, type RegistryRow } from './registries.queries.js';

/** Partitions that may be remembered, over all registries and views. */
const REMEMBERED_PARTITIONS = 500_000;

/** The partitions of a registry at one revision of its sources, and the views of it that were asked for. */
interface Known {
  readonly partitions: readonly LabeledPartition[];
  /** Every key of their claims, sorted: what a view of them can depend on. */
  readonly keys: readonly string[];
}

/**
 * What a caller sees of a registry: the claims of its partitions are judged by the policy, in TypeScript, once for all
 * callers that are alike in what these claims ask for. Nothing here outlives a change: the revisions of the sources, which
 * move in the transaction that changes an entry, are read with every request and are part of the key.
 */
@Injectable()
export class Views {
  private readonly known = new LRUCache<string, Known>({
    maxSize: REMEMBERED_PARTITIONS,
    sizeCalculation: ({ partitions }) => partitions.length + 1,
  });
  private readonly views = new LRUCache<string, View>({
    maxSize: REMEMBERED_PARTITIONS,
    sizeCalculation: ({ partitions }, key) => partitions.length + Math.ceil(key.length / 32) + 1,
  });

  constructor(
    private readonly queries: RegistriesQueries,
    private readonly policy: AccessPolicy,
  ) {}

  async of(caller: Caller, registry: RegistryRow): Promise<View> {
    const at = registry.revisions;
    const known = this.known.get(at) ?? (await this.read(at, registry));
    const key = `${at}|${this.policy.likeness(caller, known.keys)}`;
    const remembered = this.views.get(key);
    if (remembered) return remembered;
    const partitions = known.partitions
      .filter(({ claims }) => this.policy.maySee(caller, claims))
      .map(({ sourceId, claimSetId }) => ({ sourceId, claimSetId }));
    const view = { partitions, tag: tagOf(at, partitions) };
    this.views.set(key, view);
    return view;
  }

  private async read(at: string, registry: RegistryRow): Promise<Known> {
    const partitions = await this.queries.partitions(registry.sources.map(({ id }) => id));
    const keys = [...new Set(partitions.flatMap(({ claims }) => Object.keys(claims)))].sort();
    const known = { partitions, keys };
    this.known.set(at, known);
    return known;
  }
}

function tagOf(revisions: string, partitions: readonly Partition[]): string {
  const hash = createHash('sha256').update(revisions);
  for (const { sourceId, claimSetId } of partitions) hash.update(`|${sourceId}:${claimSetId}`);
  return hash.digest('base64url');
}
