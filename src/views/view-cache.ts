import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Caller } from '../auth/caller.js';
import type { AccessPolicy } from '../authz/access-policy.js';
import { partitionsDigest, type RegistryPartitions } from './partitions.js';
import type { Partition, View } from './view.js';
import type { RegistryState } from './views.queries.js';

/** Partitions that may be cached, over all views. */
const MAX_CACHED_PARTITIONS = 500_000;
/** Memory for views by caller, roughly in bytes. */
const MAX_CACHED_BYTES = 32 * 1024 * 1024;
const PARTITION_BYTES = 80;

interface VisiblePartitions {
  readonly partitions: readonly Partition[];
  readonly digest: string;
}

/**
 * What a caller sees of a registry: the claims of its partitions are compared with the caller's by the policy, in TypeScript, once for all callers
 * with the same visibility key. No change is missed: the revisions of the sources, which are bumped in the transaction that
 * changes an entry, are read with every request and are part of the key. Bounded in memory, however many callers there are
 * and whatever their tokens hold.
 */
export class ViewCache {
  private readonly visible = new LRUCache<string, VisiblePartitions>({
    maxSize: MAX_CACHED_PARTITIONS,
    sizeCalculation: ({ partitions }, key) => partitions.length + Math.ceil(key.length / 32) + 1,
  });
  private readonly views = new LRUCache<string, View>({
    maxSize: MAX_CACHED_BYTES,
    sizeCalculation: ({ partitions }, key) => 2 * key.length + 200 + PARTITION_BYTES * partitions.length,
  });

  constructor(private readonly policy: AccessPolicy) {}

  /** The view of a caller; the same object for callers with the same visibility key, as long as it is cached. */
  of(
    caller: Caller,
    registry: Pick<RegistryState, 'sourceIds' | 'databaseEpoch' | 'revisions'>,
    all: RegistryPartitions,
  ): View {
    const visibilityKey = this.policy.visibilityKey(caller, all.keys);
    const key = `${registry.revisions}|${all.digest}|${visibilityKey}`;
    const cached = this.views.get(key);
    if (cached) return cached;
    const { partitions, digest } = this.visibleOf(registry.databaseEpoch, all, caller, visibilityKey);
    const view = {
      partitions,
      tag: tagOf(registry.revisions, digest),
      sourceIds: registry.sourceIds,
      revisions: registry.revisions,
    };
    this.views.set(key, view);
    return view;
  }

  // The ids of partitions mean the same within one epoch of the database only.
  private visibleOf(
    databaseEpoch: string,
    all: RegistryPartitions,
    caller: Caller,
    visibilityKey: string,
  ): VisiblePartitions {
    const key = `${databaseEpoch}|${all.digest}|${visibilityKey}`;
    const cached = this.visible.get(key);
    if (cached) return cached;
    const partitions = all.partitions
      .filter(({ claims }) => this.policy.maySee(caller, claims))
      .map(({ sourceId, claimSetId }) => ({ sourceId, claimSetId }));
    const visible = { partitions, digest: partitionsDigest(partitions) };
    this.visible.set(key, visible);
    return visible;
  }
}

function tagOf(revisions: string, visibleDigest: string): string {
  return createHash('sha256').update(`${revisions}|${visibleDigest}`).digest('base64url');
}
