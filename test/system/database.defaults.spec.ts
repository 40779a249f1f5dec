import { describe, expect, it } from 'vitest';
import { aServer, aSkill } from '../support/documents.js';
import { expectRefused, versionsIn } from '../support/matchers.js';
import { aName, entryAt } from '../support/publishing.js';
import { aService } from '../support/service.js';
import { within } from '../support/within.js';

const LIST = '/registry/main/v0.1/servers';
const A_WHILE = 30_000;
const VERSIONS = ['1.0.0', '1.1.0', '1.2.0', '1.3.0', '1.4.0'];

const service = aService()
  .source('internal', { kind: 'managed' })
  .source('file', { servers: [aServer('io.acme/file')] })
  .registry('main', { sources: ['internal', 'file'] })
  .runs();

/** What an administrator may have set for the database or its roles. */
const DEFAULTS: Record<string, string> = {
  default_transaction_isolation: 'serializable',
  DateStyle: 'German, DMY',
  IntervalStyle: 'sql_standard',
  TimeZone: 'Asia/Kathmandu',
  bytea_output: 'escape',
  extra_float_digits: '-15',
  standard_conforming_strings: 'off',
  search_path: 'elsewhere',
  lock_timeout: '1ms',
  statement_timeout: '1ms',
  idle_in_transaction_session_timeout: '1ms',
  // A connection would end before it can set its own timeouts if these were shorter.
  idle_session_timeout: '1s',
  transaction_timeout: '1s',
  array_nulls: 'off',
  client_encoding: 'LATIN1',
  default_tablespace: 'missing',
  enable_seqscan: 'off',
  plan_cache_mode: 'force_generic_plan',
  quote_all_identifiers: 'on',
  row_security: 'off',
  session_replication_role: 'replica',
  transform_null_equals: 'on',
  work_mem: '64kB',
};

async function setDefaults(defaults: Record<string, string>): Promise<void> {
  const { database } = service;
  const known = await database.query<{ name: string }>(`select name from pg_settings where name = any($1)`, [
    Object.keys(defaults),
  ]);
  for (const { name } of known)
    await database.query(`alter database ${database.database} set ${name} = '${defaults[name]}'`);
}

async function uses(): Promise<void> {
  const name = aName();
  const before = new Date(Date.now() - 1_000).toISOString();
  const published = await Promise.all(
    VERSIONS.map((version) => service.post('/v1/entries', { server: aServer(name, version) })),
  );
  expect(published.map(({ status }) => status)).toEqual(VERSIONS.map(() => 201));
  expect((await service.post('/v1/entries', { skill: aSkill(aName()) })).status).toBe(201);
  const claimed = aName();
  const claims = { team: claimed };
  expect((await service.post('/v1/entries', { server: aServer(claimed), claims })).status).toBe(201);
  expect(versionsIn(await service.get(`${LIST}?search=${encodeURIComponent(claimed)}`))).toHaveLength(1);
  // A trigger adds it, and callers with claims see nothing without it.
  const partition = `select 1 from source_partition p join claim_set c on c.id = p.claim_set_id where c.claims->>'team' = $1`;
  expect(await service.database.query(partition, [claimed])).toHaveLength(1);
  const status = { status: 'deprecated' };
  const at = entryAt('server', name, '/versions/1.0.0/status');
  expect((await service.patch(at, status)).status).toBe(200);
  const list = await service.get(`${LIST}?updated_since=${before}&search=${encodeURIComponent(name)}`);
  expect(versionsIn(list).sort()).toEqual(VERSIONS.map((version) => `${name}@${version}`));
  const [{ _meta: meta } = { _meta: {} }] = (list.json as { servers: { _meta: object }[] }).servers;
  expect(Object.values(meta)[0]).toMatchObject({
    publishedAt: expect.stringMatching(/^20\d\d-.*Z$/) as string,
  });
  const added = aName();
  await service.rewrite('file', { servers: [aServer('io.acme/file'), aServer(added)] });
  expect((await service.synced('file')).status).toBe('complete');
  expect(versionsIn(await service.get(`${LIST}?search=${encodeURIComponent(added)}`))).toEqual([
    `${added}@1.0.0`,
  ]);
  expect((await service.get('/v1/audit')).status).toBe(200);
}

describe("an administrator's defaults", () => {
  it.each([
    ['without timeouts', (name: string) => !name.endsWith('_timeout')],
    ['with timeouts', () => true],
  ])('change nothing: %s', async (_what, isSet) => {
    await service.database.query('create schema if not exists elsewhere');
    await setDefaults(Object.fromEntries(Object.entries(DEFAULTS).filter(([name]) => isSet(name))));
    try {
      await service.restart();
      await uses();
    } finally {
      await service.database.query(`alter database ${service.database.database} reset all`);
    }
  });
});

describe('locks of other sessions', () => {
  it('on whole tables make reads fail before their statements time out', async () => {
    const { database } = service;
    await database.query('begin');
    await database.query('lock table entry_version, entry in access exclusive mode');
    const reply = await service.get(`${LIST}/io.acme%2Ffile/versions`);
    await database.query('rollback');
    expectRefused(reply, 503, 'database_timeout');
    const [logged] = service.logs().filter(({ code }) => code === 'database_timeout');
    expect(JSON.stringify(logged)).toContain('due to lock timeout');
    expect((await service.get(LIST)).status).toBe(200);
  });

  it('that deadlock with a publication make the publication start again', async () => {
    const { database } = service;
    const name = aName();
    // The publication detects the deadlock, after the other session has requested its lock.
    await database.query(`alter database ${database.database} set deadlock_timeout = '3s'`);
    await service.restart();
    await database.query(`set deadlock_timeout = '1h'`);
    await database.query('begin');
    await database.query(`select pg_advisory_xact_lock(hashtextextended($1, 0))`, [`server:${name}`]);
    const publication = service.post('/v1/entries', { server: aServer(name) });
    await within(A_WHILE, async () =>
      expect(
        await database.query(
          `select 1 from pg_locks where locktype = 'advisory' and not granted
             and database = (select oid from pg_database where datname = current_database())`,
        ),
      ).toHaveLength(1),
    );
    await database.query(`select id from source where name = 'internal' for update`);
    await database.query('commit');
    expect((await publication).status).toBe(201);
  });
});
