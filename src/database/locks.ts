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

/**
 * Lock for changes to sources and registries: shared for API requests, exclusive while the configuration file is
 * applied.
 */
const CONFIGURATION_LOCK = 7_264_018_532;

/**
 * Lock for blocks: shared from the last check of the blocks until the transaction ends, exclusive while they change.
 */
const ADMISSION_LOCK = 7_264_018_535;

/** Lock for content: exclusive for everything that stores files or deletes unused ones. */
const CONTENT_LOCK = 7_264_018_536;

/** Lock for one source, with its id as the second key: held to write a sync or to admit due versions. */
const BULK_WRITE_LOCK = 726_401;

/**
 * Takes an advisory lock until the transaction ends. Unlike a row lock, it also covers rows not yet created.
 *
 * @param key the id of the lock, or a name, or two numbers.
 * @param how `try` does not wait.
 * @returns for `try`, whether the transaction has the lock.
 */
export async function advisoryLock(
  manager: EntityManager,
  key: number | string | readonly [number, number],
  how: 'wait' | 'shared' | 'try' = 'wait',
): Promise<boolean> {
  const name = {
    wait: 'pg_advisory_xact_lock',
    shared: 'pg_advisory_xact_lock_shared',
    try: 'pg_try_advisory_xact_lock',
  };
  const keys =
    typeof key === 'string'
      ? 'hashtextextended($1, 0)'
      : typeof key === 'number'
        ? '$1::bigint'
        : '$1::int, $2::int';
  const [row] = await manager.query<{ held: unknown }[]>(
    `select ${name[how]}(${keys}) as held`,
    [key].flat(),
  );
  return row?.held === true;
}

/** A waiting change occupies a pool connection, so it fails after this time; the client may retry. */
const LOCK_TIMEOUT = '5s';

/** Limits how long the transaction waits for each lock; with 0, only the statement timeout applies. */
export async function limitLockWaits(manager: EntityManager, timeout = LOCK_TIMEOUT): Promise<void> {
  await manager.query(`set local lock_timeout = '${timeout}'`);
}

/**
 * Serializes changes to one name until the transaction ends.
 *
 * @param noun namespace of the name, such as `source` or `registry`.
 */
export async function lockForChange(manager: EntityManager, noun: string, name: string): Promise<void> {
  await limitLockWaits(manager);
  await advisoryLock(manager, CONFIGURATION_LOCK, 'shared');
  await advisoryLock(manager, `${noun}:${name}`);
}

/**
 * Serializes the creation of resources of one noun until the transaction ends, so that a count of them stays valid. Call
 * it after `lockForChange`.
 */
export async function lockCreation(manager: EntityManager, noun: string): Promise<void> {
  await advisoryLock(manager, `create ${noun}`);
}

/**
 * Works like `lockForChange` for one published entry, with the lock of `enterAdmission`.
 *
 * @returns the time at which the lock was acquired. Unlike the transaction's start, times read under the lock follow the
 *   order of changes.
 */
export async function lockEntry(manager: EntityManager, type: string, name: string): Promise<Date> {
  await limitLockWaits(manager);
  await enterAdmission(manager);
  await advisoryLock(manager, `${type}:${name}`);
  return currentTime(manager);
}

/**
 * Keeps blocks from changing until the transaction ends. No long work may follow, because a change to a block waits for
 * it.
 */
export async function enterAdmission(manager: EntityManager): Promise<void> {
  await advisoryLock(manager, ADMISSION_LOCK, 'shared');
}

/** Waits for all transactions in `enterAdmission`, and keeps new ones waiting until this transaction ends. */
export async function closeAdmission(manager: EntityManager): Promise<void> {
  await limitLockWaits(manager);
  await advisoryLock(manager, ADMISSION_LOCK);
}

/** Waits for the other bulk write of the source. Call it before locking the source. */
export async function lockBulkWrite(manager: EntityManager, sourceId: number): Promise<void> {
  await advisoryLock(manager, [BULK_WRITE_LOCK, sourceId]);
}

/** Works like `lockBulkWrite`, but returns false immediately if another transaction holds the lock. */
export function tryLockBulkWrite(manager: EntityManager, sourceId: number): Promise<boolean> {
  return advisoryLock(manager, [BULK_WRITE_LOCK, sourceId], 'try');
}

/** SQL: the processes of PostgreSQL that hold the lock of `lockBulkWrite` for the source with the id `$1`. */
export const BULK_WRITERS = `
  select pid from pg_locks
  where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())
    and classid = ${BULK_WRITE_LOCK} and objid = $1::int::oid and objsubid = 2 and granted`;

/**
 * Keeps other content from being stored, and unused content from being deleted, until the transaction ends. Call it
 * before all other locks, because writing files may take long.
 */
export async function lockContent(manager: EntityManager): Promise<void> {
  await advisoryLock(manager, CONTENT_LOCK);
}

/** Works like `lockContent`, but returns false immediately if another transaction holds the lock. */
export function tryLockContent(manager: EntityManager): Promise<boolean> {
  return advisoryLock(manager, CONTENT_LOCK, 'try');
}

/** Lets a background transaction wait for locks as long as one statement may take. */
export async function waitForLocks(manager: EntityManager): Promise<void> {
  await limitLockWaits(manager, '0');
}

/** Blocks all other changes to sources and registries until the transaction ends. */
export async function lockConfiguration(manager: EntityManager): Promise<void> {
  await waitForLocks(manager);
  await advisoryLock(manager, CONFIGURATION_LOCK);
}
