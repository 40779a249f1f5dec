import type { DataSource } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { UnusedClaimSets } from '../../dist/claim-sets/unused-claim-sets.queries.js';
import { createDataSource } from '../../dist/database/open-database.js';
import { SUPER_ADMIN } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import { fillPartitions } from '../support/partitions.js';
import { expectRefused, versionsIn } from '../support/matchers.js';
import { aName, aPublication, entryAt, listAt, publish } from '../support/publishing.js';
import { aService, type ServiceUnderTest } from '../support/service.js';
import { inSoak } from '../support/soak.js';

const LIMIT = 50;

/** The stored partitions, and the partitions that entries have. */
async function partitionsOf({ database }: ServiceUnderTest): Promise<{ stored: string[]; used: string[] }> {
  const pairs = async (table: string) =>
    (
      await database.query<{ pair: string }>(
        `select distinct source_id || ' ' || claim_set_id as pair from ${table} order by 1`,
      )
    ).map(({ pair }) => pair);
  return { stored: await pairs('source_partition'), used: await pairs('entry') };
}

describe('claims of changed or deleted entries', () => {
  const service = aService({ mode: 'full' })
    .source('published', { kind: 'managed' })
    .source('files', { servers: [aServer('io.acme/filed')], claims: { team: 'files' } })
    .registry('main', { sources: ['published', 'files'], claims: { door: 'main' } })
    .runs();
  const admin = () => service.as(SUPER_ADMIN);
  const relabel = (name: string, claims: object) =>
    admin().put(entryAt('server', name, '/claims'), { claims });
  const shownTo = async (team: string) =>
    versionsIn(await service.as({ team, door: 'main' }).get(listAt('server')));
  let dataSource: DataSource;
  let unused: UnusedClaimSets;
  beforeAll(async () => {
    dataSource = createDataSource({ ...service.database.connection, poolMax: 2 }, [], () => undefined);
    await dataSource.initialize();
    unused = new UnusedClaimSets(dataSource);
  });
  afterAll(() => dataSource.destroy());

  async function cleanUp(): Promise<void> {
    for (let after: number | null = 0; after !== null;) after = (await unused.deleteSlice(after)).reached;
  }
  async function isStored(claims: object): Promise<boolean> {
    const rows = await service.database.query('select 1 as one from claim_set where claims = $1', [claims]);
    return rows.length > 0;
  }
  async function expectOnlyUsedPartitions(): Promise<void> {
    const { stored, used } = await partitionsOf(service);
    expect(stored).toEqual(used);
  }

  it('have no partition after many changes to claims', async () => {
    const name = aName();
    await publish(admin(), 'server', name, { team: 'first' });
    for (let change = 0; change < 20; change += 1) await relabel(name, { team: `change ${change}` });
    await expectOnlyUsedPartitions();
    expect(await shownTo('change 18')).toEqual([]);
    expect(await shownTo('change 19')).toEqual([`${name}@1.0.0`]);
  });

  it('keep their partition while another entry of the source has them, of any type', async () => {
    const [one, other] = [aName(), aName()];
    await publish(admin(), 'server', one, { team: 'shared' });
    await publish(admin(), 'skill', other, { team: 'shared' });
    expect(await shownTo('shared')).toEqual([`${one}@1.0.0`]);
    await relabel(one, { team: 'moved' });
    await expectOnlyUsedPartitions();
    const skills = await service.as({ team: 'shared', door: 'main' }).get(listAt('skill'));
    expect((skills.json as { skills: unknown[] }).skills).toHaveLength(1);
    await admin().delete(entryAt('skill', other, '/versions/1.0.0'));
    await expectOnlyUsedPartitions();
  });

  it('have no partition after the entry or its source is deleted', async () => {
    const name = aName();
    await publish(admin(), 'server', name, { team: 'gone' });
    await admin().delete(entryAt('server', name, '/versions/1.0.0'));
    await expectOnlyUsedPartitions();
    const source = { file: { url: 'http://127.0.0.1:9/none.json' }, syncPolicy: { interval: '1h' } };
    await admin().put('/v1/sources/doomed', { ...source, claims: { team: 'doomed' } });
    await service.database.query(
      `insert into entry (source_id, type, name, claim_set_id)
       select id, 'server', 'io.acme/doomed', claim_set_id from source where name = 'doomed'`,
    );
    expect((await admin().delete('/v1/sources/doomed')).status).toBe(204);
    await expectOnlyUsedPartitions();
  });

  it('are deleted unless an entry, a source or a registry refers to them', async () => {
    const name = aName();
    await publish(admin(), 'server', name, { team: 'for a moment' });
    await relabel(name, { team: 'kept by an entry' });
    await cleanUp();
    expect(await isStored({ team: 'for a moment' })).toBe(false);
    for (const claims of [{ team: 'kept by an entry' }, { team: 'files' }, { door: 'main' }])
      expect(await isStored(claims), JSON.stringify(claims)).toBe(true);
    expect((await relabel(name, { team: 'for a moment' })).status).toBe(204);
    expect(await shownTo('for a moment')).toEqual([`${name}@1.0.0`]);
  });

  it('are deleted without affecting concurrent publishing and changes to claims', async () => {
    let isDone = false;
    const cleaning = (async () => {
      while (!isDone) await cleanUp();
    })();
    const publisher = async (seed: number) => {
      for (let round = 0; round < inSoak(15, 4); round += 1) {
        const name = aName();
        // Few distinct claims, so that they are used, deleted and recreated repeatedly.
        const claims = (more: number) => ({ team: `racing ${(seed + round + more) % 3}` });
        const published = await admin().post('/v1/entries', aPublication('server', name, claims(0)));
        expect({ status: published.status, text: published.text }).toMatchObject({ status: 201 });
        expect((await relabel(name, claims(1))).status).toBe(204);
        const [last] = [claims(1).team];
        expect(await shownTo(last)).toContain(`${name}@1.0.0`);
        expect((await admin().delete(entryAt('server', name, '/versions/1.0.0'))).status).toBe(204);
      }
    };
    try {
      await Promise.all([0, 1, 2, 3].map(publisher));
    } finally {
      isDone = true;
      await cleaning;
    }
    await expectOnlyUsedPartitions();
  });
});

describe('a managed source at claimSetsPerSource', () => {
  const service = aService({ mode: 'full' })
    .source('published', { kind: 'managed' })
    .registry('main', { sources: ['published'] })
    .configuration({ limits: { claimSetsPerSource: LIMIT } })
    .runs();
  const admin = () => service.as(SUPER_ADMIN);
  const [mine, others] = [aName(), aName()];
  beforeAll(async () => {
    for (const name of [mine, others]) await publish(admin(), 'server', name, { team: `of ${name}` });
    await fillPartitions(service, ['published'], LIMIT - 2);
  });
  const relabel = (name: string, team: string) =>
    admin().put(entryAt('server', name, '/claims'), { claims: { team } });

  it('returns 429 with the limit for a new claim set', async () => {
    const refused = await admin().post('/v1/entries', aPublication('server', aName(), { team: 'new' }));
    expectRefused(refused, 429, 'too_many_requests');
    expect(refused.text).toContain(String(LIMIT));
    expect(refused.headers['retry-after']).toBeDefined();
    await publish(admin(), 'server', 'io.acme/with-mine', { team: `of ${mine}` });
    expectRefused(await relabel(mine, 'new'), 429, 'too_many_requests');
  });

  it('accepts existing claim sets, and new ones that replace others', async () => {
    const name = aName();
    await publish(admin(), 'server', name, { team: `of ${mine}` });
    expect((await relabel(name, `of ${others}`)).status).toBe(204);
    expect((await admin().delete(entryAt('server', name, '/versions/1.0.0'))).status).toBe(204);
    expect((await relabel(others, 'in place of what only this entry had')).status).toBe(204);
  });
});
