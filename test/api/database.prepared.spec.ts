import type { DataSource } from 'typeorm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createDataSource } from '../../dist/database/open-database.js';
import { onPrimary } from '../../dist/database/primary.js';
import { PreparedStatements, type Queries } from '../../dist/database/statements.js';
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
    expect((await known()).map(({ statement }) => statement)).toEqual([onPrimary(SELECT)]);
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
  it('run unprepared for each request that sent one', async () => {
    const database = await aDatabase();
    const dataSource = await createDataSource({ ...database, poolMax: 4 }, [], () => undefined).initialize();
    const prepared = new PreparedStatements(dataSource);
    const onEach = <T>(work: () => Promise<T>) => Promise.all(Array.from({ length: 4 }, work));
    // Long enough that each takes a connection.
    const sleep = () => prepared.query('select 1 as one from pg_sleep($1)', [0.2]);
    const publish = () =>
      prepared.retrying(() =>
        dataSource.transaction((manager) =>
          prepared.together(manager, (statements) =>
            Promise.all([statements.query('select pg_sleep(0.2)'), statements.query('select 2 as two')]),
          ),
        ),
      );
    await onEach(sleep);
    await onEach(publish);
    await onEach(() =>
      dataSource.transaction((manager) => manager.query('deallocate all; select pg_sleep(0.2)')),
    );
    const answers = await Promise.all([onEach(publish), onEach(sleep)]);
    expect(answers).toEqual([
      Array.from({ length: 4 }, () => [[{ pg_sleep: '' }], [{ two: 2 }]]),
      Array.from({ length: 4 }, () => [{ one: 1 }]),
    ]);
    await dataSource.destroy();
    await database.drop();
  });
});

describe.each([
  ['in a batch', { singly: false }, true],
  ['one by one', { singly: true }, true],
  ['in a batch, unprepared', { singly: false }, false],
  ['one by one, unprepared', { singly: true }, false],
])('statements that are sent together, %s', (_how, options, isPrepared) => {
  let database: TestDatabase;
  let dataSource: DataSource;
  let prepared: PreparedStatements;
  const kept = async () =>
    (await database.query<{ number: number }>('select number from kept order by number')).map(
      ({ number }) => number,
    );
  const inTransaction = <T>(send: Parameters<typeof prepared.together<T>>[1]) =>
    dataSource.transaction((manager) => prepared.together(manager, send, options));

  beforeEach(async () => {
    database = await aDatabase();
    await database.query('create table kept (number int primary key)');
    dataSource = await createDataSource({ ...database, poolMax: 1 }, [], () => undefined).initialize();
    prepared = new PreparedStatements(dataSource);
    if (isPrepared) return;
    await prepared.query('select 1', []);
    await dataSource.query('deallocate all');
    await prepared.query('select 1', []);
  });
  afterEach(async () => {
    await dataSource.destroy();
    await database.drop();
  });

  const insert = (statements: Queries, number: number | string) =>
    statements.query('insert into kept values ($1)', [number]);

  it('run in order, and see each other', async () => {
    const [, found] = await inTransaction((statements) =>
      Promise.all([
        insert(statements, 1),
        statements.query('select number from kept'),
        insert(statements, 2),
      ]),
    );
    expect(found).toEqual([{ number: 1 }]);
    expect(await kept()).toEqual([1, 2]);
  });

  it.each<[what: string, second: number | string, code: string]>([
    ['is refused', 1, '23505'],
    ['has an invalid value', 'none', '22P02'],
  ])(
    'leave nothing if one %s, and report it instead of the statements after it',
    async (_what, second, code) => {
      const sent = inTransaction((statements) =>
        Promise.all([insert(statements, 1), insert(statements, second), insert(statements, 3)]),
      );
      await expect(sent).rejects.toMatchObject({ code });
      expect(await kept()).toEqual([]);
      // The connection is as usable as before.
      await inTransaction((statements) => Promise.all([insert(statements, 4), insert(statements, 5)]));
      expect(await kept()).toEqual([4, 5]);
    },
  );

  it('run later if they were skipped after one that failed', async () => {
    const text = 'select number + 1 as next from kept';
    const next = (number: number | string) =>
      inTransaction((statements) => Promise.all([insert(statements, number), statements.query(text)]));
    await expect(next('none')).rejects.toMatchObject({ code: '22P02' });
    expect(await next(1)).toEqual([[], [{ next: 2 }]]);
    expect(
      await dataSource.query(`select from pg_prepared_statements where statement ~ 'next'`),
    ).toHaveLength(isPrepared ? 1 : 0);
  });

  it('may begin and commit their transaction', async () => {
    const runner = dataSource.createQueryRunner();
    const answers = await prepared.together(
      runner.manager,
      (statements) =>
        Promise.all([
          insert(statements, 1),
          statements.query('select number from kept'),
          statements.query('select 2 as two'),
        ]),
      { ...options, begins: true, commits: true },
    );
    expect(answers).toEqual([[], [{ number: 1 }], [{ two: 2 }]]);
    expect(await runner.query('select 3 as three')).toEqual([{ three: 3 }]);
    await runner.release();
    expect(await kept()).toEqual([1]);
  });

  it('report the statement that failed, even if the sender notices one after it first', async () => {
    const sent = inTransaction((statements) => {
      insert(statements, 'none').catch(() => undefined);
      return insert(statements, 1);
    });
    await expect(sent).rejects.toMatchObject({ code: '22P02' });
  });

  it('report what the sender makes of the failure, not the failure itself', async () => {
    const sent = inTransaction((statements) =>
      Promise.all([
        insert(statements, 1),
        insert(statements, 'none').catch(() => Promise.reject(new Error('not a number'))),
        insert(statements, 2),
      ]),
    );
    await expect(sent).rejects.toThrow('not a number');
  });

  it('are sent for nothing if the sender throws', async () => {
    const sent = inTransaction((statements) => {
      void insert(statements, 1).catch(() => undefined);
      throw new Error('thought better of it');
    });
    await expect(sent).rejects.toThrow('thought better of it');
    await inTransaction((statements) => insert(statements, 2));
    expect(await kept()).toEqual([2]);
  });

  it('commit nothing if the sender fails before it has sent everything', async () => {
    const committing = async (send: (statements: Queries) => Promise<unknown>) => {
      const runner = dataSource.createQueryRunner();
      try {
        await runner.startTransaction();
        await prepared.together(runner.manager, send, { ...options, commits: true });
      } finally {
        if (runner.isTransactionActive) await runner.rollbackTransaction();
        await runner.release();
      }
    };
    const failing = async () => {
      await Promise.resolve();
      throw new Error('no second statement');
    };
    const sent = committing((statements) => Promise.all([insert(statements, 1), failing()]));
    await expect(sent).rejects.toThrow('no second statement');
    expect(await kept()).toEqual([]);
    await committing((statements) => Promise.all([insert(statements, 2), insert(statements, 3)]));
    expect(await kept()).toEqual([2, 3]);
  });

  it('cannot wait for each other', async () => {
    const sent = inTransaction(async (statements) => {
      await insert(statements, 1);
      return insert(statements, 2);
    });
    await expect(sent).rejects.toThrow('must not wait');
    expect(await kept()).toEqual([]);
  });

  it('run again, unprepared, if the connection lost a prepared statement', async () => {
    await inTransaction((statements) => insert(statements, 1));
    await dataSource.query('deallocate all');
    await prepared.retrying(() => inTransaction((statements) => insert(statements, 2)));
    expect(await kept()).toEqual([1, 2]);
  });

  it('are not run again after any other error', async () => {
    let runs = 0;
    const work = prepared.retrying(() => {
      runs += 1;
      return inTransaction((statements) => insert(statements, 'none'));
    });
    await expect(work).rejects.toMatchObject({ code: '22P02' });
    expect(runs).toBe(1);
  });
});
