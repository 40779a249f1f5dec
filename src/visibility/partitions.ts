import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Caller } from '../auth/caller.js';
import type { AccessPolicy } from '../authz/access-policy.js';
import type { Claims } from '../claims/claims.js';
import { SharedReads } from '../limits/shared-reads.js';
import { isPauseDue, pauseIfDue } from '../limits/time-slice.js';
import { type PartitionList, type RegistryState, ViewsQueries } from './registry-lookup.queries.js';
import { type View, viewOf, type ViewOfPartitions, type VisibleSource, visibleSource } from './view.js';

/** Limit on cached partitions, applied separately to the source cache and the registry cache. */
const MAX_CACHED_PARTITIONS = 500_000;
const MAX_CACHED_CLAIM_SETS = 200_000;
/** Claim sets read per statement: parsing a batch takes a few milliseconds. */
const BATCH = 1_000;

/** The claim sets carried by a source's entries, with their claims. */
export interface SourcePartitions {
  readonly sourceId: number;
  /** The source's partition revision; changes whenever its partitions change. */
  readonly revision: string;
  /** The IDs of the claim sets in ascending order. */
  readonly claimSetIds: readonly number[];
  /** The claims of each claim set, in the same order. */
  readonly claims: readonly Claims[];
  /** All claim keys that visibility can depend on. */
  readonly keys: ReadonlySet<string>;
}

/** The partitions of a registry's sources, in registry order. */
export interface RegistryPartitions {
  readonly sources: readonly SourcePartitions[];
  /** Source ids with their partition revisions. Within a database epoch, equal keys mean equal partitions. */
  readonly key: string;
}

export function partitionsOf(sources: readonly SourcePartitions[]): RegistryPartitions {
  return { sources, key: sources.map(({ sourceId, revision }) => `${sourceId}:${revision}`).join() };
}

/** Caches for one database epoch; ids are unique only within an epoch. */
interface EpochCache {
  readonly databaseEpoch: string;
  readonly sources: LRUCache<number, SourcePartitions>;
  readonly claims: LRUCache<number, Claims>;
}

/**
 * Reads and caches the partitions of each source. A source is read again after its partition revision changes; claim
 * sets are immutable and read only once.
 */
@Injectable()
export class Partitions {
  private readonly registries = new LRUCache<string, RegistryPartitions>({
    maxSize: MAX_CACHED_PARTITIONS,
    sizeCalculation: ({ sources }) => sources.reduce((sum, source) => sum + partitionCount(source), 1),
  });
  private cache = emptyCache('');

  private readonly pending = new SharedReads<string, RegistryPartitions>();

  constructor(private readonly queries: ViewsQueries) {}

  /** Returns a registry's partitions at the given revisions, if cached. */
  cached({ revisions }: RegistryState): RegistryPartitions | undefined {
    return this.registries.get(revisions);
  }

  /** Returns a registry's partitions at the given source revisions or newer. */
  async ofRegistry(registry: RegistryState): Promise<RegistryPartitions> {
    const cached = this.registries.get(registry.revisions);
    // A pending read may be older than this request, but not older than these revisions.
    return cached ?? this.pending.share(registry.revisions, () => this.refresh(registry));
  }

  /** Returns the current partitions of the given sources. */
  async ofSources(sourceIds: readonly number[]): Promise<readonly SourcePartitions[]> {
    const state = await this.queries.sources(sourceIds);
    // An empty result has no epoch: reading would then discard the cache.
    return state.sourceIds.length === 0 ? [] : this.read(state);
  }

  private async refresh(registry: RegistryState): Promise<RegistryPartitions> {
    const partitions = partitionsOf(await this.read(registry));
    this.registries.set(registry.revisions, partitions);
    return partitions;
  }

  private async read({
    sourceIds,
    partitionRevisions,
    databaseEpoch,
  }: Pick<RegistryState, 'sourceIds' | 'partitionRevisions' | 'databaseEpoch'>): Promise<SourcePartitions[]> {
    // A read in progress keeps using the cache for its own epoch.
    if (databaseEpoch !== this.cache.databaseEpoch) this.cache = emptyCache(databaseEpoch);
    const { cache } = this;
    const found = new Map<number, SourcePartitions>();
    for (const [index, sourceId] of sourceIds.entries()) {
      const cached = cache.sources.get(sourceId);
      if (cached && BigInt(cached.revision) >= BigInt(partitionRevisions[index] ?? 0))
        found.set(sourceId, cached);
    }
    const missing = sourceIds.filter((id) => !found.has(id));
    const lists = missing.length === 0 ? [] : await this.queries.partitions(missing);
    const claims = await this.claimsOf(lists.flatMap(idsIn), cache);
    for (const list of lists) {
      const source = await withClaims(list, claims);
      cache.sources.set(list.sourceId, source);
      found.set(list.sourceId, source);
    }
    return sourceIds.flatMap((id) => found.get(id) ?? []);
  }

  private async claimsOf(claimSetIds: readonly number[], cache: EpochCache): Promise<Map<number, Claims>> {
    const found = new Map<number, Claims>();
    const missing: number[] = [];
    for (const [index, id] of [...new Set(claimSetIds)].entries()) {
      if (isPauseDue(index)) await pauseIfDue();
      const cached = cache.claims.get(id);
      if (cached) found.set(id, cached);
      else missing.push(id);
    }
    for (let start = 0; start < missing.length; start += BATCH)
      for (const [id, claims] of await this.queries.claimsOf(missing.slice(start, start + BATCH))) {
        found.set(id, claims);
        cache.claims.set(id, claims);
      }
    return found;
  }
}

function idsIn({ claimSetIds }: PartitionList): number[] {
  return claimSetIds === '' ? [] : claimSetIds.split(',').map(Number);
}

// A claim set that was deleted after the list was read is skipped: no entry has it anymore.
async function withClaims(
  list: PartitionList,
  found: ReadonlyMap<number, Claims>,
): Promise<SourcePartitions> {
  const claimSetIds: number[] = [];
  const claims: Claims[] = [];
  const keys = new Set<string>();
  for (const [index, id] of idsIn(list).entries()) {
    if (isPauseDue(index)) await pauseIfDue();
    const required = found.get(id);
    if (!required) continue;
    claimSetIds.push(id);
    claims.push(required);
    for (const key of Object.keys(required)) keys.add(key);
  }
  return { sourceId: list.sourceId, revision: list.revision, claimSetIds, claims, keys };
}

function emptyCache(databaseEpoch: string): EpochCache {
  return {
    databaseEpoch,
    sources: new LRUCache({ maxSize: MAX_CACHED_PARTITIONS, sizeCalculation: partitionCount }),
    // `max` would allocate all slots up front: megabytes, even for a few claim sets.
    claims: new LRUCache({ maxSize: MAX_CACHED_CLAIM_SETS, sizeCalculation: () => 1 }),
  };
}

function partitionCount({ claimSetIds }: SourcePartitions): number {
  return claimSetIds.length + 1;
}

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
  const wasVisible = before && earlierResult(before);
  const visible: number[] = [];
  for (const [index, id] of claimSetIds.entries()) {
    if (isPauseDue(index)) await pauseIfDue();
    const required = claims[index];
    if (required && (wasVisible?.(id) ?? maySee(required))) visible.push(id);
  }
  return { revision, evaluatedIds: claimSetIds, visible: visibleSource(sourceId, visible) };
}

/** Returns a function that looks up an id's earlier visibility, or undefined for a new id. */
function earlierResult({ evaluatedIds, visible }: EvaluatedSource): (id: number) => boolean | undefined {
  const evaluated = new Set(evaluatedIds);
  const seen = new Set(visible.claimSetIds);
  return (id) => (evaluated.has(id) ? seen.has(id) : undefined);
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
    sizeCalculation: (view, key) => 2 * key.length + 200 + (view.seesAll ? 0 : bytesOf(view)),
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

function bytesOf({ visible }: ViewOfPartitions): number {
  return visible.reduce((sum, { claimSetIds }) => sum + 200 + PARTITION_BYTES * claimSetIds.length, 0);
}
