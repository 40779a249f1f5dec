import type { Claims } from '../claims/claims.js';
import { TimeSlice } from '../json/time-slice.js';
import { indexIn } from './ascending-ids.js';
import type { SourcePartitions } from './partitions.js';
import { type VisibleSource, visibleSource } from './view.js';

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
