import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import type { DataSource } from 'typeorm';
import { DatabaseStartError } from '../database/database-errors.js';

export interface CopiedTable {
  readonly table: string;
  readonly rows: number;
}

/**
 * Copies a snapshot of one database into an empty database with the same schema, in one transaction.
 *
 * @param tables ordered so that each table references only earlier tables.
 * @throws DatabaseStartError if the target is not empty.
 */
export async function copyDatabase(
  from: DataSource,
  to: DataSource,
  tables: readonly string[],
): Promise<CopiedTable[]> {
  const [source, target] = [from.createQueryRunner(), to.createQueryRunner()];
  try {
    await source.startTransaction('REPEATABLE READ');
    await target.startTransaction();
    const [reader, writer] = [await source.connect(), await target.connect()] as [pg.Client, pg.Client];
    // Copying large tables takes a long time.
    for (const client of [reader, writer]) await client.query('set local statement_timeout = 0');
    await refuseRows(writer, tables);
    // Triggers are not needed, because the rows that they maintain are copied as well.
    await setTriggers(writer, tables, 'disable');
    const copied: CopiedTable[] = [];
    for (const table of tables) copied.push({ table, rows: await copyTable(reader, writer, table) });
    await setTriggers(writer, tables, 'enable');
    await target.commitTransaction();
    await source.rollbackTransaction();
    for (const table of tables) await target.query(`analyze ${table}`);
    return copied;
  } finally {
    for (const runner of [target, source]) {
      if (runner.isTransactionActive) await runner.rollbackTransaction().catch(() => undefined);
      await runner.release();
    }
  }
}

async function setTriggers(
  writer: pg.Client,
  tables: readonly string[],
  to: 'enable' | 'disable',
): Promise<void> {
  await writer.query(tables.map((table) => `alter table ${table} ${to} trigger user`).join('; '));
}

async function refuseRows(writer: pg.Client, tables: readonly string[]): Promise<void> {
  for (const table of tables) {
    const { rowCount } = await writer.query(`select 1 from ${table} limit 1`);
    if (rowCount)
      throw new DatabaseStartError(
        `The target database is not empty (table ${table} has rows); nothing was copied`,
      );
  }
}

async function copyTable(reader: pg.Client, writer: pg.Client, table: string): Promise<number> {
  const { rows: columns } = await reader.query<{ name: string; sequence: string | null }>(
    `select quote_ident(a.attname) as name, pg_get_serial_sequence(quote_ident($1), a.attname) as sequence from pg_attribute a
     where a.attrelid = $1::regclass and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' order by a.attnum`,
    [table],
  );
  const list = columns.map(({ name }) => name).join(', ');
  const sink = writer.query(copyFrom(`copy ${table} (${list}) from stdin`));
  await pipeline(reader.query(copyTo(`copy ${table} (${list}) to stdout`)), sink);
  for (const { sequence } of columns) {
    if (sequence === null) continue;
    const { rows } = await reader.query<{ last: string; called: boolean }>(
      `select last_value as last, is_called as called from ${sequence}`,
    );
    await writer.query('select setval($1::regclass, $2, $3)', [sequence, rows[0]?.last, rows[0]?.called]);
  }
  return sink.rowCount;
}
