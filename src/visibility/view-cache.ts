import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Caller } from '../auth/caller.js';
import type { AccessPolicy } from '../authz/access-policy.js';
import type { Claims } from '../claims/claims.js';
import { SharedReads } from '../database/shared-reads.js';
import { TimeSlice } from '../json/time-slice.js';
import { indexIn, type RegistryPartitions, type SourcePartitions } from './partitions.js';
import { type View, type VisibleSource, visibleSource } from './view.js';
import type { RegistryState } from './views.queries.js';

/** What some callers see of a source, and of which partitions that was judged. */
export interface JudgedSource {
  readonly revision: string;
  readonly judgedIds: readonly number[];
  readonly visible: VisibleSource;
}

/**
 * Judges the partitions of a source, a slice of time after the other: there may be ten thousand. The claims of a claim set never
 * change, so what was judged before, for callers with the same visibility key, is judged still.
 */
export async function judgeSource(
  { sourceId, revision, claimSetIds, claims }: SourcePartitions,
  before: JudgedSource | undefined,
  maySee: (claims: Claims) => boolean,
): Promise<JudgedSource> {
  const slice = new TimeSlice();
  const wasVisible = before && earlierJudgement(before);
  const visible: number[] = [];
  for (const [index, id] of claimSetIds.entries()) {
    if (slice.isOverAt(index)) await slice.pause();
    const required = claims[index];
    if (required && (wasVisible?.(id) ?? maySee(required))) visible.push(id);
  }
  return { revision, judgedIds: claimSetIds, visible: visibleSource(sourceId, visible) };
}

/** @returns a function that is to be asked in ascending order; undefined for what was not judged. */
function earlierJudgement({ judgedIds, visible }: JudgedSource): (id: number) => boolean | undefined {
  const judged = indexIn(judgedIds);
  const seen = indexIn(visible.claimSetIds);
  return (id) => (judged(id) === undefined ? undefined : seen(id) !== undefined);
}

/** Memory for what was judged, and for views by caller, roughly in bytes each. */
const MAX_CACHED_BYTES = 32 * 1024 * 1024;
/** A number in a list, twice, and its digits. */
const PARTITION_BYTES = 24;

interface LatestView {
  readonly policyVersion: number;
  readonly revisions: string;
  readonly partitions: string;
  readonly view: WeakRef<View>;
}

/**
 * What a caller sees of a registry: the claims of its partitions are judged by the policy, in TypeScript, once for all callers
 * with the same visibility key, source by source. No change is missed: the revisions of the sources, which are bumped in the
 * transaction that changes an entry, are read with every request and are part of the key. Bounded in memory, however many
 * callers there are and whatever their tokens hold.
 */
export class ViewCache {
  /** By epoch, source and visibility key: what was judged last. */
  private readonly judged = new LRUCache<string, JudgedSource>({
    maxSize: MAX_CACHED_BYTES,
    sizeCalculation: ({ judgedIds, visible }, key) =>
      2 * key.length + 200 + 8 * judgedIds.length + PARTITION_BYTES * visible.claimSetIds.length,
  });
  private readonly views = new LRUCache<string, View>({
    maxSize: MAX_CACHED_BYTES,
    sizeCalculation: ({ visible }, key) =>
      2 * key.length +
      200 +
      visible.reduce((sum, { claimSetIds }) => sum + 200 + PARTITION_BYTES * claimSetIds.length, 0),
  });
  /** Of each caller that is known, the view they had last: neither is kept here for longer than elsewhere. */
  private readonly latest = new WeakMap<Caller, LatestView>();
  private readonly pending = new SharedReads<string, View>();

  constructor(private readonly policy: AccessPolicy) {}

  /** The view of a caller who sees everything, whatever there is. */
  viewOfAll(registry: Pick<RegistryState, 'sourceIds' | 'revisions'>): View {
    const key = `${registry.revisions}|`;
    const cached = this.views.get(key);
    if (cached) return cached;
    const view = viewOf(registry, true, []);
    this.views.set(key, view);
    return view;
  }

  /** The view of a caller; the same object for callers with the same visibility key, as long as it is cached. */
  async viewOf(
    caller: Caller,
    registry: Pick<RegistryState, 'sourceIds' | 'databaseEpoch' | 'revisions'>,
    partitions: RegistryPartitions,
  ): Promise<View> {
    const known = this.cached(caller, registry, partitions);
    if (known) return known;
    const key = this.keyOf(caller, registry, partitions);
    return this.pending.share(key, () => this.judge(key, caller, registry, partitions));
  }

  /** The same, if it is cached. */
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
    // The partitions may be later ones than the registry's revisions are of.
    return `${revisions}|${read}|${this.policy.visibilityKey(caller, isRequired)}`;
  }

  private async judge(
    key: string,
    caller: Caller,
    registry: Pick<RegistryState, 'sourceIds' | 'databaseEpoch' | 'revisions'>,
    { sources }: RegistryPartitions,
  ): Promise<View> {
    const visible: VisibleSource[] = [];
    for (const source of sources) {
      const judged = await this.judgeSource(registry.databaseEpoch, caller, source);
      if (judged.claimSetIds.length > 0) visible.push(judged);
    }
    const view = viewOf(registry, false, visible);
    this.views.set(key, view);
    return view;
  }

  // The ids of claim sets mean the same within one epoch of the database only.
  private async judgeSource(
    databaseEpoch: string,
    caller: Caller,
    source: SourcePartitions,
  ): Promise<VisibleSource> {
    const visibilityKey = this.policy.visibilityKey(caller, (key) => source.keys.has(key));
    const key = `${databaseEpoch}|${source.sourceId}|${visibilityKey}`;
    const before = this.judged.get(key);
    if (before?.revision === source.revision) return before.visible;
    const judged = await judgeSource(source, before, (claims) => this.policy.maySee(caller, claims));
    this.judged.set(key, judged);
    return judged.visible;
  }
}

function viewOf(
  { sourceIds, revisions }: Pick<RegistryState, 'sourceIds' | 'revisions'>,
  seesAll: boolean,
  visible: readonly VisibleSource[],
): View {
  const tag = createHash('sha256').update(`${revisions}|${seesAll}`);
  for (const { digest } of visible) tag.update(digest);
  return { seesAll, visible, tag: tag.digest('base64url'), sourceIds, revisions };
}
