import type { ListFilter } from './list-request.js';

/** A part of a filter that has an index of its own, and the SQL that reads it. */
export interface IndexScan {
  /**
   * Whether the index is read by itself or together with the one of changed claims. Both are read in order and no further than asked.
   */
  readonly reads: 'in-order' | 'changes';
  readonly column: 'updated_at' | 'version' | 'status';
  /** The condition that reads candidates, as `v`, from the index. */
  readonly candidates: string;
  /** Whether a candidate has the value that was asked for; others follow it in the index. */
  readonly exact: string;
}

// Values stand in subqueries, which the planner cannot look into. An inequality with such a value is taken to be true of a
// third of the table; together with the order, the index is the only way without sorting that much.
const UPDATED_SINCE: IndexScan = {
  reads: 'changes',
  column: 'updated_at',
  candidates: 'v.updated_at >= (select $updatedSince::timestamptz)',
  exact: 'true',
};
const VERSION: IndexScan = {
  reads: 'in-order',
  column: 'version',
  candidates: 'v.version >= (select $version::text)',
  exact: 'v.version = (select $version::text)',
};
const STATUS: IndexScan = {
  reads: 'in-order',
  column: 'status',
  candidates: `v.status >= (select $status::text) and v.status <> 'active'`,
  exact: 'v.status = (select $status::text)',
};

/** The indexes that find what this filter asks for, but for the one of search texts: see search-scan.queries.ts. */
export function indexScansFor({ updatedSince, version, status }: ListFilter): IndexScan[] {
  const scans: IndexScan[] = [];
  if (updatedSince !== undefined) scans.push(UPDATED_SINCE);
  if (version !== undefined && version !== 'latest') scans.push(VERSION);
  if (status !== undefined && status !== 'active') scans.push(STATUS);
  return scans;
}
