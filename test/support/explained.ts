import type { DataSource } from 'typeorm';

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** Runs `work` with a data source that records its statements, and counts the rows those statements touch. */
export async function rowsTouched(
  runner: { query(sql: string, values?: unknown[]): Promise<unknown> },
  work: (dataSource: DataSource) => Promise<unknown>,
): Promise<number> {
  const asked: [string, unknown[] | undefined][] = [];
  const query = (sql: string, values?: unknown[]) => {
    asked.push([sql, values]);
    return runner.query(sql, values);
  };
  await work({ query } as unknown as DataSource);
  let rows = 0;
  for (const [sql, values] of asked) {
    const [answer] = (await runner.query(`explain (analyze, format json) ${sql}`, values)) as {
      'QUERY PLAN': { Plan: PlanNode }[];
    }[];
    for (const { Plan } of answer?.['QUERY PLAN'] ?? []) rows += rowsOf(Plan);
  }
  return rows;
}

// All that scans of tables and indexes read, also what they discard. What a statement reads once and materializes counts once.
function rowsOf(node: PlanNode): number {
  const isScan = node['Relation Name'] !== undefined || node['Index Name'] !== undefined;
  const read =
    node['Actual Rows'] +
    (node['Rows Removed by Filter'] ?? 0) +
    (node['Rows Removed by Index Recheck'] ?? 0);
  const below = (node.Plans ?? []).reduce((sum, child) => sum + rowsOf(child), 0);
  return (isScan ? read * node['Actual Loops'] : 0) + below;
}
