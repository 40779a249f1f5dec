import { createHash } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import { Column, type ColumnOptions, DataSource, type EntityManager, PrimaryGeneratedColumn } from 'typeorm';
import { poolOf } from './connection-pool.js';

/** Values by parameter name. */
export type NamedValues = Readonly<Record<string, unknown>>;

/** A statement with numbered parameters. */
export interface BoundStatement {
  readonly text: string;
  readonly values: unknown[];
}

interface NumberedText {
  readonly text: string;
  /** Parameter names in the order of their numbers. */
  readonly names: readonly string[];
}

// Its size is bounded by the number of statements and combinations of conditions, since texts contain no request data.
const numberedTexts = new Map<string, NumberedText>();

/**
 * Converts named parameters (`$name`) to numbered ones (`$1`, `$2` …), numbered in order of first appearance. Values
 * without a parameter are ignored.
 *
 * @param text must not contain request data: it is cached forever.
 * @throws Error for a parameter without a value, which is a bug.
 */
export function bind(text: string, named: NamedValues): BoundStatement {
  let numbered = numberedTexts.get(text);
  if (!numbered) {
    numbered = numberNames(text);
    numberedTexts.set(text, numbered);
  }
  const values = numbered.names.map((name) => {
    if (!Object.hasOwn(named, name)) throw new Error(`The statement has no value for $${name}`);
    return named[name];
  });
  return { text: numbered.text, values };
}

function numberNames(text: string): NumberedText {
  const numbers = new Map<string, number>();
  const numbered = text.replaceAll(/\$([a-zA-Z]+)/g, (_, name: string) => {
    const number = numbers.get(name) ?? numbers.size + 1;
    numbers.set(name, number);
    return `$${number}`;
  });
  return { text: numbered, names: [...numbers.keys()] };
}

/** Bytes of texts that are read at once. */
const MAX_READ_BYTES = 1_024 * 1_024;

/**
 * SQL: the first rows of a query, in order: up to 1 MiB in total, but at least one. PostgreSQL knows the length of a
 * text without reading it.
 *
 * @param bytes SQL: the size of a row.
 * @param from the rest of the query, after `from`.
 */
export function firstRows(columns: string, bytes: string, from: string, order: string): string {
  return `
select * from (
  select ${columns}, row_number() over listed as place, sum(${bytes}) over listed as bytes
  from ${from}
  window listed as (order by ${order} rows unbounded preceding)
) sized
where place = 1 or bytes <= ${MAX_READ_BYTES}
order by place`;
}

/**
 * SQLSTATEs for prepared statements that do not match the connection: unknown, already prepared, or with changed
 * columns. Poolers without support for prepared statements cause these errors.
 */
const STALE_STATEMENT_STATES = new Set(['26000', '42P05', '0A000']);

/** Runs prepared statements, which PostgreSQL parses and plans once per connection. */
@Injectable()
export class PreparedStatements {
  private readonly logger = new Logger(PreparedStatements.name);
  private readonly names = new Map<string, string>();
  private isSupported = true;

  constructor(private readonly dataSource: DataSource) {}

  /**
   * Runs a statement outside any transaction and returns its rows. Each text stays prepared on each connection, so
   * variable data belongs in `values`.
   *
   * @throws errors from node-postgres or TypeORM.
   */
  async query<Rows>(text: string, values: unknown[]): Promise<Rows> {
    const pool = this.isSupported ? poolOf(this.dataSource) : undefined;
    if (pool)
      try {
        return (await pool.query({ name: this.nameOf(text), text, values })).rows as Rows;
      } catch (error) {
        this.giveUpIfStale(error);
      }
    return this.dataSource.query<Rows>(text, values);
  }

  /** Stops using prepared statements if the error shows that one was lost; throws any other. Another request may have noticed first. */
  private giveUpIfStale(error: unknown): void {
    if (!STALE_STATEMENT_STATES.has(String((error as { code?: unknown }).code))) throw error;
    if (!this.isSupported) return;
    this.isSupported = false;
    this.logger.warn(
      'PostgreSQL, or a connection pooler in front of it, does not support prepared statements: they are no longer used',
    );
  }

  // Names are hashes of the text, because several services may share one connection through a pooler.
  private nameOf(text: string): string {
    const known = this.names.get(text);
    if (known !== undefined) return known;
    const name = `registry_${createHash('sha256').update(text).digest('hex').slice(0, 40)}`;
    this.names.set(text, name);
    return name;
  }
}

/** Primary key `id integer generated always as identity`, for small tables. */
export function IdColumn(table: string): PropertyDecorator {
  return PrimaryGeneratedColumn('identity', {
    type: 'integer',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: `${table}_pkey`,
  });
}

/** Like `IdColumn`, but a bigint, for tables that may grow large; node-postgres returns it as a string. */
export function BigIdColumn(table: string): PropertyDecorator {
  return PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: `${table}_pkey`,
  });
}

/** A text column with collation C: page order must not depend on the database's locale. */
export function BytewiseText(options: ColumnOptions = {}): PropertyDecorator {
  return Column({ type: 'text', collation: 'C', ...options });
}

/** A timestamp with the millisecond precision of a JavaScript Date. */
export function Timestamp(options: ColumnOptions = {}): PropertyDecorator {
  return Column({ type: 'timestamptz', precision: 3, ...options });
}

/** SQL expression: a timestamp column as RFC 3339 text in UTC, the format of responses. */
export function utcText(column: string): string {
  return `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

/** Stands for `\u`, and keeps the text valid JSON even after another backslash. */
const ESCAPE = '/\ue000u';

/**
 * SQL expression: the raw text of a member of a document, for `parseJsonMember`. PostgreSQL's own functions fail for documents
 * with escapes such as `\u0000`, which other registries may serve.
 */
export function jsonMember(column: string, member: string): string {
  return `(replace(${column}, '\\u', '${ESCAPE}')::json->'${member}')::text`;
}

/** Returns the value that `jsonMember` selected. */
export function parseJsonMember(text: string): unknown {
  return JSON.parse(text.replaceAll(ESCAPE, '\\u'));
}

/** SQL expression for updates: the time in so many milliseconds. */
export function timeIn(ms: number): () => string {
  return () => `now() + ${Number(ms)} * interval '1 millisecond'`;
}

/** SQL condition: the column equals one of these words, which are not escaped and must be constants. */
export function isOneOf(column: string, words: readonly string[]): string {
  return `${column} in (${words.map((word) => `'${word}'`).join(', ')})`;
}

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
const CATALOGUE_LOCK = 7_264_018_532;
/** Lock for blocks: shared from the last look at them until the transaction ends, exclusive while they change. */
const ADMISSION_LOCK = 7_264_018_535;
/** Lock for content: exclusive for everything that stores files or deletes unused ones. */
const CONTENT_LOCK = 7_264_018_536;
/** Lock, with the id of the source, of the transaction that writes a sync or admits what is due. */
const BULK_WRITE_LOCK = 726_401;

/**
 * Takes an advisory lock until the transaction ends. Unlike a row lock, it also covers creation.
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

/** Limits how long the transaction waits for each lock; 0: as long as one statement may take. */
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
  await advisoryLock(manager, CATALOGUE_LOCK, 'shared');
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
 * Like `lockForChange`, but for one published entry, with the lock of `enterAdmission`.
 *
 * @param showsVersions whether blocks apply to the change. If not, changes of blocks do not wait for it, so it may take
 *   long.
 * @returns the time at which the lock was acquired: see `currentTime`.
 */
export async function lockEntry(
  manager: EntityManager,
  type: string,
  name: string,
  showsVersions = true,
): Promise<Date> {
  await limitLockWaits(manager);
  if (showsVersions) await enterAdmission(manager);
  await advisoryLock(manager, `${type}:${name}`);
  return currentTime(manager);
}

/**
 * Keeps blocks from changing until the transaction ends. No long work may follow: the change of a block waits for it.
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

/** Like `lockBulkWrite`, but returns false immediately if another transaction holds the lock. */
export function tryLockBulkWrite(manager: EntityManager, sourceId: number): Promise<boolean> {
  return advisoryLock(manager, [BULK_WRITE_LOCK, sourceId], 'try');
}

/** SQL: the processes of PostgreSQL that hold the lock of `lockBulkWrite` for the source with the id `$1`. */
export const BULK_WRITERS = `
  select pid from pg_locks
  where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())
    and classid = ${BULK_WRITE_LOCK} and objid = $1::int::oid and objsubid = 2 and granted`;

/**
 * Keeps other content from being stored, and unused content from being deleted, until the transaction ends. Call it after
 * the lock of an entry.
 */
export async function lockContent(manager: EntityManager): Promise<void> {
  await advisoryLock(manager, CONTENT_LOCK);
}

/** Like `lockContent`, but returns false immediately if another transaction holds the lock. */
export function tryLockContent(manager: EntityManager): Promise<boolean> {
  return advisoryLock(manager, CONTENT_LOCK, 'try');
}

/** Lets a background transaction wait for locks as long as one statement may take. */
export async function waitForLocks(manager: EntityManager): Promise<void> {
  await limitLockWaits(manager, '0');
}

/** Blocks all other changes to sources and registries until the transaction ends. */
export async function lockCatalogue(manager: EntityManager): Promise<void> {
  await waitForLocks(manager);
  await advisoryLock(manager, CATALOGUE_LOCK);
}
