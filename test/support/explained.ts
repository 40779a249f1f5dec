import type { DataSource } from 'typeorm';

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Total Cost': number;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly PlanNode[];
}

interface Runner {
  query(sql: string, values?: unknown[]): Promise<unknown>;
}
type Work = (dataSource: DataSource) => Promise<unknown>;

/** Runs `work` with a data source that records its statements, and counts the rows they touch. */
export async function rowsTouched(runner: Runner, work: Work): Promise<number> {
  let rows = 0;
  for (const [sql, values] of await statementsOf(runner, work))
    for (const plan of await plansOf(runner, `explain (analyze, format json) ${sql}`, values))
      rows += rowsOf(plan);
  return rows;
}

/**
 * How much more the generic plan costs than the custom plan, in planner units: the maximum over the statements of
 * `work`.
 */
export async function costOfKeepingPlans(runner: Runner, work: Work): Promise<number> {
  const differences: number[] = [];
  for (const [sql, values = []] of await statementsOf(runner, work)) {
    const literals = values.map(literal);
    await runner.query(`prepare explained as ${sql}`);
    const cost = async (mode: 'generic' | 'custom') => {
      await runner.query(`set plan_cache_mode = force_${mode}_plan`);
      const [plan] = await plansOf(runner, `explain (format json) execute explained (${literals.join()})`);
      return plan?.['Total Cost'] ?? Number.NaN;
    };
    differences.push((await cost('generic')) - (await cost('custom')));
    await runner.query('deallocate explained');
    await runner.query('reset plan_cache_mode');
  }
  return Math.max(...differences);
}

async function statementsOf(runner: Runner, work: Work): Promise<[string, unknown[] | undefined][]> {
  const asked: [string, unknown[] | undefined][] = [];
  const query = (sql: string, values?: unknown[]) => {
    asked.push([sql, values]);
    return runner.query(sql, values);
  };
  await work({ query } as unknown as DataSource);
  return asked;
}

async function plansOf(runner: Runner, explain: string, values?: unknown[]): Promise<PlanNode[]> {
  const [answer] = (await runner.query(explain, values)) as { 'QUERY PLAN': { Plan: PlanNode }[] }[];
  return (answer?.['QUERY PLAN'] ?? []).map(({ Plan }) => Plan);
}

// Counts the rows read by scans of tables and indexes, including discarded rows. Materialized rows count once.
function rowsOf(node: PlanNode): number {
  const isScan = node['Relation Name'] !== undefined || node['Index Name'] !== undefined;
  const read =
    node['Actual Rows'] +
    (node['Rows Removed by Filter'] ?? 0) +
    (node['Rows Removed by Index Recheck'] ?? 0);
  const below = (node.Plans ?? []).reduce((sum, child) => sum + rowsOf(child), 0);
  return (isScan ? read * node['Actual Loops'] : 0) + below;
}

function literal(value: unknown): string {
  if (value === null) return 'null';
  return `'${Array.isArray(value) ? `{${value.map((each) => JSON.stringify(each)).join()}}` : String(value)}'`;
}
