import { SORTS_OF_CALLERS } from './crowd.js';
import type { History } from './history.js';
import { type Fault, judge } from './judgement.js';
import type { Read } from './reading.js';

export type Faults = Record<Fault, string[]>;

/** What is wrong with these reads, by kind; only the first of a kind are told in full. */
export function faultsIn(reads: readonly Read[], history: History): Faults {
  const faults: Faults = { late: [], stale: [], foreign: [], skewed: [], wrong: [], error: [] };
  const counts = { late: 0, stale: 0, foreign: 0, skewed: 0, wrong: 0, error: 0 };
  for (const read of reads) {
    const verdict = judge(read, history, SORTS_OF_CALLERS.length);
    if (!verdict) continue;
    counts[verdict.fault] += 1;
    if (counts[verdict.fault] <= TOLD) faults[verdict.fault].push(verdict.said);
  }
  for (const [fault, said] of Object.entries(faults) as [Fault, string[]][])
    if (counts[fault] > TOLD) said.push(`and ${counts[fault] - TOLD} more`);
  return faults;
}

const TOLD = 5;
