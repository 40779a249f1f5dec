import type { RememberedRegistry, View } from '../../views/view.js';

/** How often a page is read because something changed each time. */
export const MAX_READS = 5;
/** Said when that was not often enough. */
export const CHANGES_TOO_FAST = 'The catalogue changes faster than it can be read: try again shortly';

/** In every row of a statement about a view: whether its sources were still at the revisions of the view. */
export interface CurrencyRow {
  readonly isCurrent: boolean;
}

/**
 * Whether an answer, made by one statement or several, is of the state of the catalogue that its view was computed from. The view
 * is known before the rows are read, perhaps from an earlier request: each statement tests whether anything has changed in between,
 * in its own snapshot.
 */
export class SnapshotCheck {
  private isOutOfDate = false;
  private hasProof = false;

  /** @param remembered the registry of the view, where it was not looked up for this answer: it is tested too. */
  constructor(
    readonly view: View,
    readonly remembered?: RememberedRegistry,
  ) {}

  /** Whether everything observed so far is of the state of the view. Of one that is remembered, something has to be. */
  get isCurrent(): boolean {
    return !this.isOutOfDate && (this.hasProof || !this.remembered);
  }

  /** @param rows of a statement; without any there is no proof, and that counts as out of date. */
  observe<Row extends CurrencyRow>(rows: Row[]): Row[] {
    if (rows[0]?.isCurrent === true) this.hasProof = true;
    else this.isOutOfDate = true;
    return rows;
  }
}
