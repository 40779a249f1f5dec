import { setTimeout as sleep } from 'node:timers/promises';
import { type QueryRunner, QueryFailedError } from 'typeorm';

const FIRST_MS = 300;
/** Long enough for PostgreSQL to cancel a blocking autovacuum, which it does after a second. */
const LONGEST_MS = 5_000;
const PAUSE_MS = 100;
const LOCK_NOT_AVAILABLE = '55P03';
const DEADLOCK_DETECTED = '40P01';

/**
 * Takes table locks for the rest of the transaction once no conflicting lock is held. Writers of the previous
 * version, still running, lock tables in different orders; waiting for them while holding a lock could
 * deadlock. So all locks are taken at once, or released and retried.
 * @param locks statements, such as `lock table source in exclusive mode`.
 */
export async function lockTables(runner: QueryRunner, ...locks: string[]): Promise<void> {
  await runner.query('savepoint before_locks');
  for (let attempt = 1; ; attempt += 1)
    try {
      await runner.query(`set local lock_timeout = ${Math.min(attempt * FIRST_MS, LONGEST_MS)}`);
      for (const lock of locks) await runner.query(lock);
      await runner.query(`set local lock_timeout to default`);
      await runner.query('release savepoint before_locks');
      return;
    } catch (error) {
      if (!isLockConflict(error)) throw error;
      await runner.query('rollback to savepoint before_locks');
      await sleep(PAUSE_MS);
    }
}

function isLockConflict(error: unknown): boolean {
  if (!(error instanceof QueryFailedError)) return false;
  const { code } = error.driverError as { code?: string };
  return code === LOCK_NOT_AVAILABLE || code === DEADLOCK_DETECTED;
}
