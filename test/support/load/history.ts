import type { ModelState } from '../model/model.js';

/** What the catalogue was from one change to the next; times in ms of one clock. */
export interface Generation {
  readonly state: ModelState;
  /** What made it so. */
  readonly change: string;
  readonly begun: number;
  readonly acknowledged: number;
}

/** Every state of a catalogue whose changes came one after the other, each begun after the one before was acknowledged. */
export class History {
  private readonly all: Generation[];

  constructor(state: ModelState) {
    this.all = [{ state, change: 'the start', begun: -Infinity, acknowledged: -Infinity }];
  }

  add(generation: Generation): void {
    if (generation.begun < this.newest.acknowledged) throw new Error('Changes came at once');
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
   * The states that an answer may tell of: everything acknowledged before its request began is in it, and nothing that
   * was not begun before it ended. The newest first.
   */
  possible(began: number, ended: number): number[] {
    const newest = lastWhere(this.all, ({ begun }) => begun < ended);
    const oldest = lastWhere(this.all, ({ acknowledged }) => acknowledged <= began);
    return Array.from({ length: newest - oldest + 1 }, (_, index) => newest - index);
  }

  /** For how long a state had been over when a request began; 0 while it was not. */
  age(index: number, began: number): number {
    return Math.max(0, began - (this.all[index + 1]?.acknowledged ?? Infinity));
  }
}

/** The last index of which the condition holds, when it holds of all before that one too; -1 when of none. */
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
