import { Column, type ColumnOptions, type EntityManager, PrimaryGeneratedColumn } from 'typeorm';

/** `id integer generated always as identity`, the key of tables that stay small. */
export function IdColumn(table: string): PropertyDecorator {
  return PrimaryGeneratedColumn('identity', {
    type: 'integer',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: `${table}_pkey`,
  });
}

/** The same as a bigint, for tables that may grow large; node-postgres hands it over as text. */
export function BigIdColumn(table: string): PropertyDecorator {
  return PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: `${table}_pkey`,
  });
}

/** Text that is compared bytewise: the order of pages must not depend on the locale of the database. */
export function BytewiseText(options: ColumnOptions = {}): PropertyDecorator {
  return Column({ type: 'text', collation: 'C', ...options });
}

/** A moment, kept to the millisecond as JavaScript knows it. */
export function Timestamp(options: ColumnOptions = {}): PropertyDecorator {
  return Column({ type: 'timestamptz', precision: 3, ...options });
}

/** SQL: a timestamp column as RFC 3339 text in UTC, as answers show it. */
export function utcText(column: string): string {
  return `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

/** SQL: whether a column holds one of these words. They come from our own tables: nothing is escaped. */
export function isOneOf(column: string, words: readonly string[]): string {
  return `${column} in (${words.map((word) => `'${word}'`).join(', ')})`;
}

/** When the transaction began, to the millisecond. The database's time, because the clocks of replicas differ. */
export async function transactionTime(manager: EntityManager): Promise<Date> {
  const [row] = await manager.query<{ now: Date }[]>(`select date_trunc('milliseconds', now()) as now`);
  if (!row) throw new Error('PostgreSQL returned no time');
  return row.now;
}

/** PostgreSQL takes no NUL in text: a name with one is in no table, and need not be queried for. */
export function hasNul(text: string): boolean {
  return text.includes('\0');
}

/** The text with U+FFFD in place of what PostgreSQL's text and jsonb do not take: NUL, and half a surrogate pair. */
export function toStorable(text: string): string {
  return text.replaceAll(/\0|\p{Surrogate}/gu, '\ufffd');
}
