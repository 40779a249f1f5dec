import { expected } from './expected.js';
import type { History } from './history.js';
import { isSkewed } from './read-skew.js';
import { pathOf } from './questions.js';
import type { Read } from './reading.js';

/** The lateness that is allowed, ms. */
const LATE_MS = 1_000;

/** Why a response matches none of the possible states. */
export type Fault =
  /** Matches a state that was over when the request began, for at most a second. */
  | 'late'
  /** Matches a state that was over for longer than that. */
  | 'stale'
  /** Matches what callers of another view see, now or earlier. */
  | 'foreign'
  /** Mixes several possible states, each part true on its own (`read-skew.ts`). */
  | 'skewed'
  /** Was never shown to any caller. */
  | 'wrong'
  /** No response. */
  | 'error';

export interface Verdict {
  readonly fault: Fault;
  readonly said: string;
}

const PASSABLE = new Set([200, 304, 403, 404]);
/** How many states are searched for the origin of a wrong response. */
const LOOK_BACK = 400;

/** Whether the reference model gives this response in one of the possible states. */
export function isRight({ reader, question, status, holds, began, ended }: Read, history: History): boolean {
  if (!PASSABLE.has(status)) return false;
  const shown = holds.summary(question);
  return history
    .possible(began, ended)
    .some((index) => expected(history.at(index).state, reader.sort, question) === shown);
}

/** Classifies a faulty read by finding the state it came from, which is slow. */
export function judge(read: Read, history: History, sorts: number): Verdict {
  const { reader, question, status, holds, began, ended } = read;
  if (!PASSABLE.has(status))
    return { fault: 'error', said: `${status} to ${pathOf(question)}: ${holds.text.slice(0, 200)}` };
  const shown = holds.summary(question);
  const says = (index: number, sort: number) => expected(history.at(index).state, sort, question) === shown;
  const possible = history.possible(began, ended);
  const [newest = 0] = possible;
  const all = Array.from({ length: Math.min(newest + 1, LOOK_BACK) }, (_, back) => newest - back);
  const others = Array.from({ length: sorts }, (_, sort) => sort).filter((sort) => sort !== reader.sort);
  const then = all.find((index) => says(index, reader.sort));
  const age = then === undefined ? Infinity : history.age(then, began);
  const foreign =
    then === undefined ? others.find((sort) => possible.some((at) => says(at, sort))) : undefined;
  const explain = (fault: Fault, why: string) => ({
    fault,
    said: [
      `${why}: ${status} to ${pathOf(question)} for ${JSON.stringify(reader.claims)}, ${Math.round(ended - began)} ms`,
      ...possible.map((index) => `state ${index}, after: ${history.at(index).change}`),
      `shown:    ${brief(shown)}`,
      ...possible.map(
        (index) => `expected: ${brief(expected(history.at(index).state, reader.sort, question))}`,
      ),
    ].join('\n  '),
  });
  if (then !== undefined)
    return explain(age > LATE_MS ? 'stale' : 'late', `over for ${Math.round(age)} ms (state ${then})`);
  const states = possible.map((index) => history.at(index).state);
  if (isSkewed(states, reader.sort, question, shown)) return explain('skewed', 'of several states');
  if (foreign !== undefined) return explain('foreign', `shown to callers of sort ${foreign}`);
  return explain('wrong', 'matches no state');
}

// Names, versions and descriptions suffice to see what is wrong.
function brief(summary: string): string {
  return summary
    .split('\n')
    .map((line) => {
      const [, name] = /"name":"([^"]+)"/.exec(line) ?? [];
      const [, number] = /"description":"From ([^"]+)"/.exec(line) ?? [];
      const [, version] = /"version":"([^"]+)"/.exec(line) ?? [];
      return name === undefined ? line : `${line.split('{')[0]}${name}@${version} (${number})`;
    })
    .join('; ');
}
