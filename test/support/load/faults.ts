import { SORTS_OF_CALLERS } from './callers.js';
import type { History } from './history.js';
import { type Fault, isRight, judge } from './verdict.js';
import type { Read } from './reading.js';

export type Faults = Record<Fault, string[]>;

/**
 * How many faulty reads are analyzed, spread over all of them; the first of each kind are reported in full.
 */
const LOOKED_INTO = 60;
const MAX_REPORTED = 4;

/** The faulty reads, by kind. */
export function faultsIn(reads: readonly Read[], history: History): Faults {
  const wrong = reads.filter((read) => !isRight(read, history));
  const step = Math.max(1, wrong.length / LOOKED_INTO);
  const faults: Faults = { late: [], stale: [], foreign: [], skewed: [], wrong: [], error: [] };
  for (let at = 0; at < wrong.length; at += step) {
    const read = wrong[Math.floor(at)];
    if (!read) break;
    const { fault, said } = judge(read, history, SORTS_OF_CALLERS.length);
    const reported = faults[fault].length;
    if (reported < MAX_REPORTED) faults[fault].push(said);
    else if (reported === MAX_REPORTED)
      faults[fault].push(`and others: ${wrong.length} faulty reads in total`);
  }
  return faults;
}
