import { Column, type ColumnOptions, type EntityManager, PrimaryGeneratedColumn } from 'typeorm';

/** Primary key `id integer generated always as identity`, for small tables. */
export function IdColumn(table: string): PropertyDecorator {
  return PrimaryGeneratedColumn('identity', {
    type: 'integer',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: `${table}_pkey`,
  });
}

/** The same as a bigint, for tables that may grow large; node-postgres returns it as a string. */
export function BigIdColumn(table: string): PropertyDecorator {
  return PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: `${table}_pkey`,
  });
}

/** Text with collation C: page order must not depend on the database's locale. */
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

/** SQL condition: the column equals one of these words, which are not escaped and must be constants. */
export function isOneOf(column: string, words: readonly string[]): string {
  return `${column} in (${words.map((word) => `'${word}'`).join(', ')})`;
}

/** Start of the transaction, in milliseconds of the database's clock, because the clocks of replicas differ. */
export async function transactionTime(manager: EntityManager): Promise<Date> {
  const [row] = await manager.query<{ now: Date }[]>(`select date_trunc('milliseconds', now()) as now`);
  if (!row) throw new Error('PostgreSQL returned no time');
  return row.now;
}

/** PostgreSQL text cannot contain NUL, so no table has a name with one and the query can be skipped. */
export function hasNul(text: string): boolean {
  return text.includes('\0');
}

/** Replaces NUL and lone surrogates, which PostgreSQL's text and jsonb reject, with U+FFFD. */
export function toStorable(text: string): string {
  return text.replaceAll(/\0|\p{Surrogate}/gu, '\ufffd');
}
