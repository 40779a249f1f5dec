import type { DataSource } from 'typeorm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createDataSource } from '../../dist/database/open-database.js';
import { PreparedStatements } from '../../dist/database/statements.js';
import { aDatabase, type TestDatabase } from '../support/database.js';

const SELECT = 'select number from kept where number >= $1 order by number';

describe('a prepared statement', () => {
  let database: TestDatabase;
  let dataSource: DataSource;
  let prepared: PreparedStatements;
  const numbers = async (from: number) => {
    const rows = await prepared.query<{ number: number | string }[]>(SELECT, [from]);
    return rows.map(({ number }) => Number(number));
  };
  const known = async () =>
    dataSource.query<{ name: string; statement: string }[]>(
      'select name, statement from pg_prepared_statements',
    );

  beforeEach(async () => {
    database = await aDatabase();
    await database.query('create table kept as select generate_series(1, 3) as number');
    // One connection, so that every change hits the connection that runs the statement.
    dataSource = await createDataSource({ ...database, poolMax: 1 }, [], () => undefined).initialize();
    prepared = new PreparedStatements(dataSource);
  });
  afterEach(async () => {
    await dataSource.destroy();
    await database.drop();
  });

  it('is parsed once and runs with the values of each call', async () => {
    expect(await numbers(1)).toEqual([1, 2, 3]);
    expect(await numbers(3)).toEqual([3]);
    expect((await known()).map(({ statement }) => statement)).toEqual([SELECT]);
  });

  it.each<[what: string, act: () => Promise<unknown>]>([
    ['lost it', () => dataSource.query('deallocate all')],
    ['has a changed table', () => database.query('alter table kept alter number type bigint')],
    [
      'has one of the same name from another service',
      async () => {
        const [{ name = '' } = {}] = await known();
        await dataSource.destroy();
        await dataSource.initialize();
        await dataSource.query(`prepare "${name}" as ${SELECT.replace('$1', '$1::int')}`);
      },
    ],
  ])('is prepared again when the connection %s', async (_what, act) => {
    expect(await numbers(1)).toEqual([1, 2, 3]);
    await act();
    await dataSource.query('select 1');
    const before = await known();
    expect(await numbers(2)).toEqual([2, 3]);
    expect(await numbers(3)).toEqual([3]);
    expect((await known()).length).toBeLessThanOrEqual(before.length);
  });

  it('is still used after an error in its values', async () => {
    await expect(prepared.query(SELECT, ['none'])).rejects.toThrow('invalid input syntax');
    expect(await numbers(2)).toEqual([2, 3]);
    expect(await known()).toHaveLength(1);
  });
});

describe('prepared statements that several connections have lost', () => {
  it('run unprepared for each request that used one', async () => {
    const database = await aDatabase();
    const dataSource = await createDataSource({ ...database, poolMax: 4 }, [], () => undefined).initialize();
    const prepared = new PreparedStatements(dataSource);
    const onEach = <T>(work: () => Promise<T>) => Promise.all(Array.from({ length: 4 }, work));
    // Long enough that each takes a connection.
    const sleep = () => prepared.query('select 1 as one from pg_sleep($1)', [0.2]);
    await onEach(sleep);
    await onEach(() =>
      dataSource.transaction((manager) => manager.query('deallocate all; select pg_sleep(0.2)')),
    );
    expect(await onEach(sleep)).toEqual(Array.from({ length: 4 }, () => [{ one: 1 }]));
    await dataSource.destroy();
    await database.drop();
  });
});
