import { LRUCache } from 'lru-cache';
import type { Caller } from '../auth/caller.js';
import type { AccessPolicy } from '../authz/access-policy.js';
import type { Claims } from '../claims/claims.js';
import { SharedReads } from '../limits/shared-reads.js';
import { TimeSlice } from '../json/time-slice.js';
import {
  ascendingIndex,
  type View,
  viewOf,
  type ViewOfPartitions,
  type VisibleSource,
  visibleSource,
} from './view.js';
import type { RegistryPartitions, SourcePartitions } from './source-partitions.js';
import type { RegistryState } from './registry-lookup.queries.js';

/** Approximate size limit of each of the two caches, in bytes. */
const MAX_CACHED_BYTES = 32 * 1024 * 1024;
/** Size per partition: a number in two lists, plus its digits. */
const PARTITION_BYTES = 24;

/** The visible part of a source for one visibility key. */
interface EvaluatedSource {
  readonly revision: string;
  /** All evaluated claim sets, in ascending order. */
  readonly evaluatedIds: readonly number[];
  readonly visible: VisibleSource;
}

/**
 * Evaluates the partitions of a source in time slices, since there may be ten thousand of them. Claim sets are
 * immutable, so earlier results for the same visibility key stay valid.
 */
export async function evaluateSource(
  { sourceId, revision, claimSetIds, claims }: SourcePartitions,
  before: EvaluatedSource | undefined,
  maySee: (claims: Claims) => boolean,
): Promise<EvaluatedSource> {
  const slice = new TimeSlice();
  const wasVisible = before && earlierResult(before);
  const visible: number[] = [];
  for (const [index, id] of claimSetIds.entries()) {
    if (slice.isOverAt(index)) await slice.pause();
    const required = claims[index];
    if (required && (wasVisible?.(id) ?? maySee(required))) visible.push(id);
  }
  return { revision, evaluatedIds: claimSetIds, visible: visibleSource(sourceId, visible) };
}

/**
 * Returns a function that looks up an id's earlier visibility, or undefined for a new id. Call the function with
 * ascending ids.
 */
function earlierResult({ evaluatedIds, visible }: EvaluatedSource): (id: number) => boolean | undefined {
  const evaluated = ascendingIndex(evaluatedIds);
  const seen = ascendingIndex(visible.claimSetIds);
  return (id) => (evaluated(id) === undefined ? undefined : seen(id) !== undefined);
}

interface LatestView {
  readonly policyVersion: number;
  readonly revisions: string;
  readonly partitions: string;
  readonly view: WeakRef<View>;
}

/**
 * Computes and caches views. The policy evaluates the partitions of each source once for all callers with the same
 * visibility key. Cache keys contain the revisions of the sources, which change in the transaction that changes an
 * entry. Memory use is bounded, regardless of the number of callers and the size of their tokens.
 */
export class ViewCache {
  /** Latest results by epoch, source and visibility key. */
  private readonly evaluated = new LRUCache<string, EvaluatedSource>({
    maxSize: MAX_CACHED_BYTES,
    sizeCalculation: ({ evaluatedIds, visible }, key) =>
      2 * key.length + 200 + 8 * evaluatedIds.length + PARTITION_BYTES * visible.claimSetIds.length,
  });
  private readonly views = new LRUCache<string, View>({
    maxSize: MAX_CACHED_BYTES,
    sizeCalculation: (view, key) => 2 * key.length + 200 + (view.seesAll ? 0 : sizeOf(view)),
  });
  /** The latest view of each caller. The references to caller and view are weak. */
  private readonly latest = new WeakMap<Caller, LatestView>();
  private readonly pending = new SharedReads<string, View>();

  constructor(private readonly policy: AccessPolicy) {}

  /** Returns the view of a caller who sees every entry. */
  viewOfAll(registry: Pick<RegistryState, 'sourceIds' | 'revisions'>): View {
    const key = `${registry.revisions}|`;
    const cached = this.views.get(key);
    if (cached) return cached;
    const view = viewOf(registry, null);
    this.views.set(key, view);
    return view;
  }

  /** Returns a caller's view. Callers with the same visibility key get the same object while it is cached. */
  async viewOf(
    caller: Caller,
    registry: Pick<RegistryState, 'sourceIds' | 'databaseEpoch' | 'revisions'>,
    partitions: RegistryPartitions,
  ): Promise<View> {
    const cached = this.cached(caller, registry, partitions);
    if (cached) return cached;
    const key = this.keyOf(caller, registry, partitions);
    return this.pending.share(key, () => this.evaluate(key, caller, registry, partitions));
  }

  /** Returns a caller's view, if cached. */
  cached(
    caller: Caller,
    registry: Pick<RegistryState, 'revisions'>,
    partitions: RegistryPartitions,
  ): View | undefined {
    const { revisions } = registry;
    const latest = this.latest.get(caller);
    const policyVersion = this.policy.version;
    const isSame =
      latest?.policyVersion === policyVersion &&
      latest.revisions === revisions &&
      latest.partitions === partitions.key;
    const last = isSame ? latest.view.deref() : undefined;
    if (last) return last;
    const view = this.views.get(this.keyOf(caller, registry, partitions));
    const key = partitions.key;
    if (view) this.latest.set(caller, { policyVersion, revisions, partitions: key, view: new WeakRef(view) });
    return view;
  }

  private keyOf(
    caller: Caller,
    { revisions }: Pick<RegistryState, 'revisions'>,
    { sources, key: read }: RegistryPartitions,
  ): string {
    const isRequired = (key: string) => sources.some(({ keys }) => keys.has(key));
    // The key contains both revisions, because the partitions may be newer than the registry's revisions.
    return `${revisions}|${read}|${this.policy.visibilityKey(caller, isRequired)}`;
  }

  private async evaluate(
    key: string,
    caller: Caller,
    registry: Pick<RegistryState, 'sourceIds' | 'databaseEpoch' | 'revisions'>,
    { sources }: RegistryPartitions,
  ): Promise<View> {
    const visible: VisibleSource[] = [];
    for (const source of sources) {
      const part = await this.visiblePartOf(source, registry.databaseEpoch, caller);
      if (part.claimSetIds.length > 0) visible.push(part);
    }
    const view = viewOf(registry, visible);
    this.views.set(key, view);
    return view;
  }

  // Claim set ids are unique only within a database epoch.
  private async visiblePartOf(
    source: SourcePartitions,
    databaseEpoch: string,
    caller: Caller,
  ): Promise<VisibleSource> {
    const visibilityKey = this.policy.visibilityKey(caller, (key) => source.keys.has(key));
    const key = `${databaseEpoch}|${source.sourceId}|${visibilityKey}`;
    const before = this.evaluated.get(key);
    if (before?.revision === source.revision) return before.visible;
    const evaluated = await evaluateSource(source, before, (claims) => this.policy.maySee(caller, claims));
    this.evaluated.set(key, evaluated);
    return evaluated.visible;
  }
}

function sizeOf({ visible }: ViewOfPartitions): number {
  return visible.reduce((sum, { claimSetIds }) => sum + 200 + PARTITION_BYTES * claimSetIds.length, 0);
}
