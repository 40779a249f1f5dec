import type { View } from '../../views/view.js';

/** In every row of a statement about a view: whether its sources were still at the revisions of the view. */
export interface CurrencyRow {
  readonly isCurrent: boolean;
}

/**
 * Whether an answer, made by one statement or several, is of the state of the catalogue that its view was computed from. The view
 * is known before the rows are read: each statement tests whether anything has changed in between, in its own snapshot.
 */
export class SnapshotCheck {
  private isOutOfDate = false;

  constructor(readonly view: View) {}

  /** Whether everything observed so far is of the state of the view. */
  get isCurrent(): boolean {
    return !this.isOutOfDate;
  }

  /** @param rows of a statement; without any there is no proof, and that counts as out of date. */
  observe<Row extends CurrencyRow>(rows: Row[]): Row[] {
    if (rows[0]?.isCurrent !== true) this.isOutOfDate = true;
    return rows;
  }
}
