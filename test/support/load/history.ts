import type { ModelState } from '../model/model.js';

/** The catalog between two changes; times in ms of one clock. */
export interface Generation {
  readonly state: ModelState;
  /** The change that led to it. */
  readonly change: string;
  readonly begun: number;
  readonly acknowledged: number;
}

/** Every state of a catalog with serial changes, each begun after the previous one was acknowledged. */
export class History {
  private readonly all: Generation[];

  constructor(state: ModelState) {
    this.all = [{ state, change: 'the start', begun: -Infinity, acknowledged: -Infinity }];
  }

  add(generation: Generation): void {
    if (generation.begun < this.newest.acknowledged) throw new Error('Changes overlapped');
    this.all.push(generation);
  }

  get newest(): Generation {
    const last = this.all.at(-1);
    if (!last) throw new Error('There is no history');
    return last;
  }

  get changes(): readonly Generation[] {
    return this.all.slice(1);
  }

  at(index: number): Generation {
    const generation = this.all[index];
    if (!generation) throw new Error(`There is no generation ${index}`);
    return generation;
  }

  /**
   * The states a response may show: it includes every change acknowledged before its request began and none
   * begun after it ended. Newest first.
   */
  possible(began: number, ended: number): number[] {
    const newest = lastWhere(this.all, ({ begun }) => begun < ended);
    const oldest = lastWhere(this.all, ({ acknowledged }) => acknowledged <= began);
    return Array.from({ length: newest - oldest + 1 }, (_, index) => newest - index);
  }

  /** Time from the end of a state to the start of a request; 0 if the state was current. */
  age(index: number, began: number): number {
    return Math.max(0, began - (this.all[index + 1]?.acknowledged ?? Infinity));
  }
}

/** The last index of the leading run for which the condition holds; -1 if there is none. */
function lastWhere(all: readonly Generation[], holds: (one: Generation) => boolean): number {
  let [from, to] = [0, all.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    const one = all[middle];
    if (one && holds(one)) from = middle + 1;
    else to = middle;
  }
  return from - 1;
}
