import type { View } from '../../views/view.js';

/** What every row of a statement about a view says: whether its sources were still at the revisions of the view. */
export interface Standing {
  readonly stands: boolean;
}

/**
 * One reading of an answer, by one statement or several. Views are known before their rows are read: each statement says
 * whether anything has changed in between, at the very moment it was answered for.
 */
export class Reading {
  private moved = false;

  constructor(readonly view: View) {}

  /** Whether all of it was of the state that the view is of. */
  get stands(): boolean {
    return !this.moved;
  }

  /** @param rows of a statement; none at all say nothing of its moment, and count as moved. */
  noted<Row extends Standing>(rows: Row[]): Row[] {
    if (rows[0]?.stands !== true) this.moved = true;
    return rows;
  }
}
