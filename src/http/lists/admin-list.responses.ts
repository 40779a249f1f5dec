export class AdminListMetadata {
  /** Items of this page. */
  count: number;

  /** Absent on the last page. */
  nextCursor?: string;
}
