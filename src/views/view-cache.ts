import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Caller } from '../auth/caller.js';
import type { AccessPolicy } from '../authz/access-policy.js';
import type { Partition, View } from './view.js';
import { digestOf, type PartitionList } from './partitions.js';
import type { RegistryState } from './views.queries.js';

/** Partitions that may be cached, over all views. */
const MAX_CACHED_PARTITIONS = 500_000;
/** Memory for views by caller, roughly in bytes. */
const MAX_CACHED_BYTES = 32 * 1024 * 1024;
const PARTITION_BYTES = 80;

interface Visible {
  readonly partitions: readonly Partition[];
  readonly digest: string;
}

/**
 * What a caller sees of a list of partitions: their claims are judged by the policy, in TypeScript, once for all callers that
 * are alike in what these claims ask for. Nothing here outlives a change: the revisions of the sources, which move in the
 * transaction that changes an entry, are read with every request and are part of the key. Bounded in memory, however many
 * callers there are and whatever their tokens hold.
 */
export class ViewCache {
  private readonly visible = new LRUCache<string, Visible>({
    maxSize: MAX_CACHED_PARTITIONS,
    sizeCalculation: ({ partitions }, key) => partitions.length + Math.ceil(key.length / 32) + 1,
  });
  private readonly views = new LRUCache<string, View>({
    maxSize: MAX_CACHED_BYTES,
    sizeCalculation: ({ partitions }, key) => 2 * key.length + 200 + PARTITION_BYTES * partitions.length,
  });

  constructor(private readonly policy: AccessPolicy) {}

  /** The same view for callers who are alike, as long as it is cached. */
  of(
    caller: Caller,
    registry: Pick<RegistryState, 'sourceIds' | 'databaseEpoch' | 'revisions'>,
    list: PartitionList,
  ): View {
    const visibilityKey = this.policy.visibilityKey(caller, list.keys);
    const key = `${registry.revisions}|${list.digest}|${visibilityKey}`;
    const known = this.views.get(key);
    if (known) return known;
    const { partitions, digest } = this.visibleIn(registry.databaseEpoch, list, caller, visibilityKey);
    const view = {
      partitions,
      tag: tagOf(registry.revisions, digest),
      sourceIds: registry.sourceIds,
      revisions: registry.revisions,
    };
    this.views.set(key, view);
    return view;
  }

  // The ids of a list mean what they do in one databaseEpoch of the database only.
  private visibleIn(
    databaseEpoch: string,
    list: PartitionList,
    caller: Caller,
    visibilityKey: string,
  ): Visible {
    const key = `${databaseEpoch}|${list.digest}|${visibilityKey}`;
    const known = this.visible.get(key);
    if (known) return known;
    const partitions = list.partitions
      .filter(({ claims }) => this.policy.maySee(caller, claims))
      .map(({ sourceId, claimSetId }) => ({ sourceId, claimSetId }));
    const visible = { partitions, digest: digestOf(partitions) };
    this.visible.set(key, visible);
    return visible;
  }
}

function tagOf(revisions: string, visible: string): string {
  return createHash('sha256').update(`${revisions}|${visible}`).digest('base64url');
}
