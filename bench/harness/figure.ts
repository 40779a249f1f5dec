import { median } from './rounds.js';

/** One measured ratio. Machines differ and are noisy, so the baseline is measured in the same run. */
export interface Figure {
  /** The table row it belongs to. */
  row: string;
  /** The quantity and its baseline. */
  measure: string;
  /** The median of the rounds. */
  value: number;
  /** Infinite for a figure without a target. */
  target: number;
  /** Whether the target is an upper bound. */
  atMost: boolean;
  rounds: number[];
  /** Values that are meaningful only for this machine, such as milliseconds. */
  note?: string;
}

export function figure(
  row: string,
  measure: string,
  rounds: number[],
  { target, atMost }: Pick<Figure, 'target' | 'atMost'>,
  note?: string,
): Figure {
  return {
    row,
    measure,
    value: median(rounds),
    target,
    atMost,
    rounds,
    ...(note === undefined ? {} : { note }),
  };
}

export const atLeast = (target: number) => ({ target, atMost: false });
export const atMost = (target: number) => ({ target, atMost: true });
/** Used for figures that have no target. */
export const reportedOnly = { target: Number.POSITIVE_INFINITY, atMost: true };

export function isMet({ value, target, atMost: below }: Figure): boolean {
  return below ? value <= target : value >= target;
}
