import { SORTS_OF_CALLERS } from './callers.js';
import type { History } from './history.js';
import { type Fault, isRight, judge } from './verdict.js';
import type { Read } from './reading.js';

export type Faults = Record<Fault, string[]>;

/** So many are looked into, spread over all that are wrong; and of each kind the first are told in full. */
const LOOKED_INTO = 60;
const TOLD = 4;

/** What is wrong with these reads, by kind. */
export function faultsIn(reads: readonly Read[], history: History): Faults {
  const wrong = reads.filter((read) => !isRight(read, history));
  const step = Math.max(1, wrong.length / LOOKED_INTO);
  const faults: Faults = { late: [], stale: [], foreign: [], skewed: [], wrong: [], error: [] };
  for (let at = 0; at < wrong.length; at += step) {
    const read = wrong[Math.floor(at)];
    if (!read) break;
    const { fault, said } = judge(read, history, SORTS_OF_CALLERS.length);
    const told = faults[fault].length;
    if (told < TOLD) faults[fault].push(said);
    else if (told === TOLD) faults[fault].push(`and others: ${wrong.length} reads in all are not right`);
  }
  return faults;
}
