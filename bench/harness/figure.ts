import { median } from './rounds.js';

/** One measured ratio. Machines differ and are noisy, so it is always held against a baseline of the same run. */
export interface Figure {
  /** The row of the table it belongs to. */
  row: string;
  /** What is held against what. */
  measure: string;
  /** The median of the rounds. */
  value: number;
  /** Not finite: reported, and judged by nobody. */
  target: number;
  /** Whether the value must stay below the target, and not reach it. */
  atMost: boolean;
  rounds: number[];
  /** Figures that mean something on one machine only, such as milliseconds. */
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
/** Worth telling, and no promise. */
export const toldOnly = { target: Number.POSITIVE_INFINITY, atMost: true };

export function isMet({ value, target, atMost: below }: Figure): boolean {
  return below ? value <= target : value >= target;
}
