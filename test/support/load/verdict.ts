import { expected } from './expected.js';
import type { History } from './history.js';
import { isSkewed } from './read-skew.js';
import { pathOf } from './questions.js';
import type { Read } from './reading.js';

/** What issue and contract allow an answer to be late, in ms. */
export const LATE_MS = 1_000;

/** Why an answer is none of those it could have been. */
export type Fault =
  /** True once, over when the request began, and not for longer than a second. */
  | 'late'
  /** True once, and over for longer than that. */
  | 'stale'
  /** What callers of another view are shown, now or before. */
  | 'foreign'
  /** Put together from states that it may tell of, and so true in its parts only (`skew.ts`). */
  | 'skewed'
  /** What nobody was ever shown. */
  | 'wrong'
  /** No answer at all. */
  | 'error';

export interface Verdict {
  readonly fault: Fault;
  readonly said: string;
}

const PASSABLE = new Set([200, 304, 403, 404]);
/** Only so many states are looked through for where a wrong answer came from. */
const LOOK_BACK = 400;

/** Does the reference say the same in one of the states that this read may tell of? */
export function isRight({ reader, question, status, holds, began, ended }: Read, history: History): boolean {
  if (!PASSABLE.has(status)) return false;
  const shown = holds.summary(question);
  return history
    .possible(began, ended)
    .some((index) => expected(history.at(index).state, reader.sort, question) === shown);
}

/** What is wrong with a read that is not right: looks for where the answer comes from, which takes its time. */
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
  if (foreign !== undefined) return explain('foreign', `what callers of sort ${foreign} are shown`);
  return explain('wrong', 'no state says so');
}

// Names, versions and descriptions are enough to see what is wrong.
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
