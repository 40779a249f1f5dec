import { IS_WORTH_READING } from './freshness.queries.js';

/**
 * SQL: whether an entry is in the view: `AccessPolicy.maySee` has allowed its claim set. COALESCE keeps the planner from
 * looking up every claim set in its statistics, which for thousands of claim sets takes longer than running the
 * statement. A null parameter matches nothing.
 */
export function isVisible(entry: string): string {
  return `(coalesce(${entry}.claim_set_id = any($claimSets::int[]), false) or $seesAll::boolean)`;
}

/**
 * SQL: like `isVisible`, for statements that test many entries. Subqueries hide the values from the planner, so it
 * hashes the claim sets and keeps the generic plan instead of planning each page.
 */
export function isVisibleAmongMany(entry: string): string {
  return `(coalesce(${entry}.claim_set_id in (select unnest((select $claimSets::int[]))), false) or (select $seesAll::boolean))`;
}

/** SQL: the ranked sources with visible partitions. The subquery form hides the value from the planner. */
export function rankedBy(sources: '$rankedSources::int[]' | '(select $rankedSources::int[])'): string {
  return `ranked as materialized (
  select source_id, rank::int from unnest(${sources}) with ordinality as r(source_id, rank)
  where ${IS_WORTH_READING}
)`;
}
