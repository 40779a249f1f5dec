import type { EntityManager } from 'typeorm';

/** Returns the transaction's start time by the database's clock, because the clocks of replicas differ. */
export function transactionTime(manager: EntityManager): Promise<Date> {
  return databaseTime(manager, 'now()');
}

/**
 * Returns the current time by the database's clock, in whole milliseconds. Unlike transaction start times, times read
 * under a lock follow the order of its holders.
 */
export function currentTime(manager: EntityManager): Promise<Date> {
  return databaseTime(manager, 'clock_timestamp()');
}

async function databaseTime(manager: EntityManager, clock: 'now()' | 'clock_timestamp()'): Promise<Date> {
  const [row] = await manager.query<{ time: Date }[]>(`select date_trunc('milliseconds', ${clock}) as time`);
  if (!row) throw new Error('PostgreSQL returned no time');
  return row.time;
}
