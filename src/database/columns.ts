import { Column, type ColumnOptions, PrimaryGeneratedColumn } from 'typeorm';

/** Primary key `id integer generated always as identity`, for small tables. */
export function IdColumn(table: string): PropertyDecorator {
  return PrimaryGeneratedColumn('identity', {
    type: 'integer',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: `${table}_pkey`,
  });
}

/** A bigint variant of `IdColumn` for tables that may grow large; node-postgres returns it as a string. */
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
