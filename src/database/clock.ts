import type { EntityManager } from 'typeorm';

/** When the transaction began, to the millisecond. The database's time, because the clocks of replicas differ. */
export async function transactionTime(manager: EntityManager): Promise<Date> {
  const [row] = await manager.query<{ now: Date }[]>(`select date_trunc('milliseconds', now()) as now`);
  if (!row) throw new Error('PostgreSQL returned no time');
  return row.now;
}
