import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { EntityManager, EntityTarget, ObjectLiteral } from 'typeorm';
import { pauseIfDue } from '../limits/time-slice.js';

/** The values of one column in many rows, passed as a single array parameter. */
interface ColumnValues {
  readonly name: string;
  readonly type: string;
  readonly values: readonly unknown[];
}

/**
 * Inserts rows with one parameter per column: TypeORM's own inserts take one per value, which is slow for
 * many rows. All rows must have the same properties; columns without one get their default.
 */
export async function insertMany<T extends ObjectLiteral, P extends keyof T>(
  manager: EntityManager,
  entity: EntityTarget<T>,
  rows: readonly Pick<T, P>[],
  onConflict: '' | 'on conflict do nothing' = '',
): Promise<void> {
  if (rows.length === 0) return;
  const columns = columnsOf(manager, entity, rows);
  const names = columns.map(({ name }) => name).join(', ');
  await manager.query(
    `insert into ${tableOf(manager, entity)} (${names}) select * from ${unnested(columns)} ${onConflict}`,
    columns.map(({ values }) => values),
  );
}

/**
 * Updates rows, found by their ids, each with its own values: TypeORM has no such statement.
 *
 * @param which `differing` compares the rows first, and writes only those with other values.
 */
export async function updateMany<T extends ObjectLiteral & { id: string }, P extends keyof T>(
  manager: EntityManager,
  entity: EntityTarget<T>,
  rows: readonly Pick<T, P | 'id'>[],
  which: 'all' | 'differing' = 'all',
): Promise<void> {
  if (rows.length === 0) return;
  const columns = columnsOf(manager, entity, rows);
  const names = columns.map(({ name }) => name);
  const changed = names.filter((name) => name !== 'id');
  const changes = changed.map((name) => `${name} = n.${name}`);
  const differs = changed.map((name) => `stored.${name} is distinct from n.${name}`).join(' or ');
  await manager.query(
    `update ${tableOf(manager, entity)} stored set ${changes.join(', ')}
     from ${unnested(columns)} as n(${names.join(', ')})
     where stored.id = n.id ${which === 'differing' ? `and (${differs})` : ''}`,
    columns.map(({ values }) => values),
  );
}

/** Characters per write to the connection. */
const CHUNK_CHARACTERS = 256 * 1024;

/**
 * Sends rows with COPY: PostgreSQL stores rows while the next ones are encoded. Requires a transaction.
 *
 * @param statement `copy … (…) from stdin`.
 */
export async function copyRows(
  { queryRunner }: EntityManager,
  statement: string,
  rows: Iterable<readonly CopiedValue[]>,
): Promise<void> {
  if (!queryRunner) throw new Error('copyRows requires a transaction');
  const client = (await queryRunner.connect()) as pg.ClientBase;
  await pipeline(Readable.from(copiedChunks(rows)), client.query(copyFrom(statement)));
}

/**
 * Returns rows in the text format of COPY. Yields to the event loop itself: while PostgreSQL reads fast enough, writing
 * to its connection does not.
 */
export async function* copiedChunks(rows: Iterable<readonly CopiedValue[]>): AsyncGenerator<string> {
  let chunk = '';
  for (const row of rows) {
    chunk += `${row.map(copiedText).join('\t')}\n`;
    await pauseIfDue();
    if (chunk.length < CHUNK_CHARACTERS) continue;
    yield chunk;
    chunk = '';
  }
  if (chunk !== '') yield chunk;
}

type CopiedValue = string | boolean | Date | Buffer | null;

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Returns a value in the text format of COPY (https://www.postgresql.org/docs/current/sql-copy.html). */
export function copiedText(value: CopiedValue): string {
  if (value === null) return '\\N';
  if (value instanceof Date) return value.toISOString();
  if (Buffer.isBuffer(value)) return `\\\\x${value.toString('hex')}`;
  return String(value).replaceAll(/[\\\n\r\t]/g, (character) => ESCAPES[character] ?? '');
}

/**
 * Reads rows through a cursor, in batches, because parsing a large result blocks the event loop. Requires a
 * transaction. Returns the rows as of the time when it began.
 */
export async function* readInParts<Row>(
  manager: EntityManager,
  select: string,
  values: readonly unknown[],
  size: number,
): AsyncGenerator<Row[]> {
  await manager.query(`declare part no scroll cursor for ${select}`, [...values]);
  for (let read = size; read === size;) {
    const rows = await manager.query<Row[]>(`fetch ${size} from part`);
    read = rows.length;
    yield rows;
  }
  await manager.query(`close part`);
}

/**
 * An ordered query, as SQL: `bytes` is the size of a row, `from` the rest of the query after that keyword.
 */
export interface OrderedRows {
  readonly columns: string;
  readonly bytes: string;
  readonly from: string;
  readonly order: string;
}

/** Reads the first rows of a query: see `firstRows`. */
export function readFirst<Row>(
  manager: EntityManager,
  { columns, bytes, from, order }: OrderedRows,
  values: unknown[],
): Promise<Row[]> {
  return manager.query<Row[]>(firstRows(columns, bytes, from, order), values);
}

function tableOf<T extends ObjectLiteral>(manager: EntityManager, entity: EntityTarget<T>): string {
  return manager.dataSource.getMetadata(entity).tableName;
}

/** @throws Error for a property that is not a column, which is a bug. */
function columnsOf<T extends ObjectLiteral>(
  manager: EntityManager,
  entity: EntityTarget<T>,
  rows: readonly object[],
): ColumnValues[] {
  const { dataSource } = manager;
  const metadata = dataSource.getMetadata(entity);
  return Object.keys(rows[0] ?? {}).map((property) => {
    const column = metadata.findColumnWithPropertyName(property);
    if (!column) throw new Error(`${metadata.name} has no column ${property}`);
    const values = rows.map((row) => {
      const value: unknown = row[property as keyof typeof row];
      return dataSource.driver.preparePersistentValue(value, column) as unknown;
    });
    return { name: column.databaseName, type: String(column.type), values };
  });
}

/** The values of these properties, as arrays that are parameters of `unnest`. */
export function columnArrays<Row>(rows: readonly Row[], ...properties: (keyof Row)[]): unknown[][] {
  return properties.map((property) => rows.map((row) => row[property]));
}

/** SQL: a table of rows whose columns are the parameters, in this order. */
function unnested(columns: readonly ColumnValues[]): string {
  return `unnest(${columns.map(({ type }, index) => `$${index + 1}::${type}[]`).join(', ')})`;
}

/** Maximum bytes of texts read in one batch. */
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
