import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { Repository } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SourceState } from '../../dist/sources/source.entity.js';
import { SourceLeases } from '../../dist/sources/source-leases.queries.js';
import { aDatabase, type TestDatabase } from '../support/database.js';
import { aCatalogue, aServer } from '../support/documents.js';
import { rowsTouched } from '../support/explained.js';
import { listensMeanwhile, urlOf } from '../support/loopback.js';
import { versionsIn } from '../support/matchers.js';
import { aService } from '../support/service.js';

/** A web server that responds on the test's signal. */
const upstream = createServer();
const asked = async (): Promise<ServerResponse> => {
  const [, response] = (await once(upstream, 'request')) as [unknown, ServerResponse];
  return response;
};
const answer = (response: ServerResponse, name: string) =>
  response.end(JSON.stringify(aCatalogue([aServer(name)], [])));
const url = (path: string) => `${urlOf(upstream)}/${path}`;

describe('a lease lost during a run', () => {
  listensMeanwhile(upstream);
  const service = aService().configuration({ adminAllowPrivateIP: true }).runs();
  const put = (name: string, path: string) =>
    service.put(`/v1/sources/${name}`, { file: { url: url(path) }, syncPolicy: { interval: '1h' } });
  const stateOf = async (name: string) =>
    ((await service.get(`/v1/sources/${name}`)).json as { sync: Record<string, unknown> }).sync;
  const shows = async (name: string) => {
    await service.put(`/v1/registries/${name}`, { sources: [name] });
    return async () => versionsIn(await service.get(`/registry/${name}/v0.1/servers`));
  };

  it('aborts the run, which writes nothing, and leaves the source to the new owner', async () => {
    const first = asked();
    expect((await put('taken', 'catalogue.json')).status).toBe(201);
    const list = await shows('taken');
    // Well before the server's own limit of one minute.
    const closed = once(await first, 'close', { signal: AbortSignal.timeout(30_000) });
    const second = asked();
    // Simulates another replica that takes the lease and dies.
    await service.database.query(
      `update source_sync set lease_owner = gen_random_uuid(), lease_until = now() + interval '1 second'`,
    );
    const again = await second;
    await closed;
    expect(await list()).toEqual([]);
    expect(await stateOf('taken')).toMatchObject({ status: 'syncing', attempts: 2 });
    answer(again, 'io.acme/a');
    await expect.poll(list).toEqual(['io.acme/a@1.0.0']);
    expect(await stateOf('taken')).toMatchObject({ status: 'complete', attempts: 0 });
  });

  it("rolls back the run's writes: the new owner may have found nothing to write", async () => {
    const first = asked();
    expect((await put('late', 'late.json')).status).toBe(201);
    const list = await shows('late');
    const reading = await first;
    await service.database.query('begin');
    await service.database.query('lock table entry_version in share mode');
    answer(reading, 'io.acme/late');
    const waiting = () =>
      service.database.query(
        `select 1 from pg_locks where not granted and database = (select oid from pg_database where datname = current_database()) and relation = 'entry_version'::regclass`,
      );
    await expect.poll(waiting).toHaveLength(1);
    const second = asked();
    await service.database.query(
      `update source_sync y set lease_owner = gen_random_uuid(), lease_until = now() from source s
       where s.id = y.source_id and s.name = 'late'`,
    );
    await service.database.query('commit');
    const again = await second;
    expect(await list()).toEqual([]);
    answer(again, 'io.acme/later');
    await expect.poll(list).toEqual(['io.acme/later@1.0.0']);
  });

  it('is not released by the run when changed settings revoked it', async () => {
    const first = asked();
    await put('moved', 'old.json');
    const list = await shows('moved');
    const old = await first;
    const second = asked();
    expect((await put('moved', 'new.json')).status).toBe(200);
    const current = await second;
    old.writeHead(500).end();
    const warnings = () =>
      service.logs().filter(({ msg, source }) => /another replica took over/.test(msg) && source === 'moved');
    await expect.poll(() => warnings().length).toBe(1);
    expect(await stateOf('moved')).toMatchObject({ status: 'syncing', attempts: 2 });
    answer(current, 'io.acme/new');
    await expect.poll(list).toEqual(['io.acme/new@1.0.0']);
    expect(await stateOf('moved')).toMatchObject({ status: 'complete' });
  });
});

describe('a sync requested while a replica takes the source', () => {
  let reads = 0;
  const upstream = createServer((_request, response) => {
    reads += 1;
    response.end(JSON.stringify(aCatalogue([aServer('io.acme/a')], [])));
  });
  listensMeanwhile(upstream);
  const service = aService();
  beforeAll(() => void service.source('main', { settings: { url: urlOf(upstream) } }));
  service.runs();

  it('runs once, and its permission to shrink ends with that run', async () => {
    await service.synced('main');
    reads = 0;
    const { database } = service;
    await database.query(`update source_sync set next_run_at = now() + interval '5 seconds'`);
    await database.query('begin');
    // Sources are still found, but not leased.
    await database.query('lock table source_sync in exclusive mode');
    const taking = async () => {
      // The view stays as it was first read within a transaction.
      await database.query('select pg_stat_clear_snapshot()');
      return database.query(
        `select 1 from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock' and query like 'update source_sync y set lease_owner%'`,
      );
    };
    await expect.poll(taking).not.toEqual([]);
    // What the route writes, after the other statement began and before it reads the row.
    await database.query(
      `update source_sync set requested_at = clock_timestamp(), shrink_allowed_at = clock_timestamp(), next_run_at = now()`,
    );
    await database.query('commit');
    const open = () =>
      database.query(
        `select 1 from source_sync where requested_at is not null or shrink_allowed_at is not null or lease_owner is not null`,
      );
    await expect.poll(open).toEqual([]);
    expect(reads).toBe(1);
  });
});

describe('looking for due sources', () => {
  const NOBODY_WAITS = { all: false, owners: [], claimSetIds: [] };
  const SOURCES = 2_000;
  let database: TestDatabase;
  beforeAll(async () => {
    database = await aDatabase();
    await database.query(
      `insert into claim_set (digest, claims) values (sha256('none'), '{}') on conflict do nothing`,
    );
    await database.query(
      `insert into source (name, kind, settings, interval_ms, claim_set_id, origin)
       select 's' || n, 'file', '{}', 60000, (select min(id) from claim_set), 'config' from generate_series(1, ${SOURCES}) n`,
    );
    await database.query(
      `insert into source_sync (source_id, next_run_at, last_attempt_at)
       select id, now() + interval '1 hour', now() from source`,
    );
    await database.query('analyze source, source_sync');
  });
  afterAll(() => database.drop());
  // TypeORM adds the number of rows to the result of an update.
  const query = async (sql: string, values?: unknown[]) => {
    const rows = await database.query(sql, values);
    return sql.startsWith('update') ? [rows, rows.length] : rows;
  };
  const touched = (ask: (leases: SourceLeases) => Promise<unknown>) =>
    rowsTouched({ query }, (dataSource) => ask(new SourceLeases(dataSource, {} as Repository<SourceState>)));

  it('reads sources only when one is due', async () => {
    expect(await touched((leases) => leases.due(NOBODY_WAITS))).toBeLessThan(10);
  });

  it('reads all sources once for many syncs', async () => {
    await database.query(`update source_sync set next_run_at = now() - interval '1 second'`);
    const [first] = await database.query<{ id: number }>(`select min(id) as id from source`);
    const ids = Array.from({ length: 8 }, (_, index) => (first?.id ?? 0) + index);
    expect(await touched((leases) => leases.due(NOBODY_WAITS))).toBeGreaterThanOrEqual(SOURCES);
    const take = (leases: SourceLeases) => leases.takeFirst(randomUUID(), 1_000, ids, NOBODY_WAITS);
    expect(await touched(take)).toBeLessThan(10 * ids.length);
  });
});
