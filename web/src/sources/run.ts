import { durationText } from '../ui/time.js';

/** A run of a source that has changed something. */
export interface Run {
  readonly id: string;
  readonly time: string;
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
  /** Undefined: it was recorded without. */
  readonly durationMs: number | undefined;
}

export const MOST_RUNS = 30;
export const RUN_CHANGES = ['added', 'changed', 'removed'] as const;

/** `3 added, 1 removed, in 2 s` */
export function wordsOf(run: Run): string {
  const changes = RUN_CHANGES.filter((kind) => run[kind] > 0).map(
    (kind) => `${run[kind].toLocaleString('en')} ${kind}`,
  );
  return [...changes, ...(run.durationMs === undefined ? [] : [`in ${durationText(run.durationMs)}`])].join(
    ', ',
  );
}
