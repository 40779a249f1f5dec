import { describe, expect, it } from 'vitest';
import { ACME_DATA, ACME_PLATFORM, SUPER_ADMIN } from '../support/callers.js';
import { aServer, type Document } from '../support/documents.js';
import { versionsIn } from '../support/matchers.js';
import { aPublication, entryAt } from '../support/publishing.js';
import { aService } from '../support/service.js';
import { within } from '../support/within.js';

const TEAM = { org: 'acme', team: 'platform' };

// A source that would lose most of its entries in one sync keeps them.
const others = [1, 2, 3, 4].map((number) => aServer(`io.acme/other-${number}`));

const service = aService({ mode: 'full' })
  .source('first', { claims: TEAM, servers: [] })
  .source('published', { kind: 'managed' })
  .registry('main', { sources: ['first', 'published'] })
  .runs();
const admin = () => service.as(SUPER_ADMIN);

interface Found {
  name: string;
  title?: string;
  version: string;
  status: string;
  updatedAt: string;
}

async function find(query: string, claims: Document = ACME_PLATFORM): Promise<Found[]> {
  let page = { items: [] as Found[], facets: { type: {} } };
  // A slow machine may refuse a search until it has prepared the registry.
  await within(20_000, async () => {
    const reply = await service.as(claims).get(`/registry/main/v0.1/x/search?${query}`);
    expect(reply.status).toBe(200);
    page = reply.json;
  });
  const { items, facets } = page;
  expect(facets.type).toEqual(items.length > 0 ? { server: items.length } : {});
  return items;
}
const titles = async (query: string, claims?: Document) =>
  (await find(query, claims)).map(({ title }) => title);

async function publish(name: string, title: string, version = '1.0.0', claims: Document = {}): Promise<void> {
  const reply = await admin().post('/v1/entries', aPublication('server', name, claims, version, { title }));
  expect(reply.status).toBe(201);
}

describe('a list with a search text', () => {
  const list = async (search: string) =>
    versionsIn(await service.as(ACME_PLATFORM).get(`/registry/main/v0.1/servers?search=${search}`));

  it('finds older versions in the index in memory from publication until deletion', async () => {
    const name = 'io.acme/aged';
    await publish(name, 'Young', '2.0.0', TEAM);
    // The ranked search reads the summaries, which an older version does not change.
    expect(await titles('q=young')).toEqual(['Young']);
    expect(await list('young')).toEqual([`${name}@2.0.0`]);
    expect(await list('ancient')).toEqual([]);
    await publish(name, 'Ancient', '1.0.0', TEAM);
    expect(await list('ancient')).toEqual([`${name}@1.0.0`]);
    expect(await titles('q=ancient')).toEqual([]);
    expect((await admin().delete(entryAt('server', name, '/versions/1.0.0'))).status).toBe(204);
    expect(await list('ancient')).toEqual([]);
    expect((await admin().delete(entryAt('server', name, '/versions/2.0.0'))).status).toBe(204);
  });
});

describe('the ranked search after a change', () => {
  it('shows the latest version immediately, and an earlier one when that is deleted', async () => {
    const name = 'io.acme/changing';
    await publish(name, 'Before', '1.0.0', TEAM);
    expect(await titles('q=changing')).toEqual(['Before']);
    await publish(name, 'After', '2.0.0', TEAM);
    expect(await titles('q=changing')).toEqual(['After']);
    expect(await titles('q=before')).toEqual([]);
    expect((await admin().delete(entryAt('server', name, '/versions/2.0.0'))).status).toBe(204);
    expect(await titles('q=changing')).toEqual(['Before']);
    expect((await admin().delete(entryAt('server', name, '/versions/1.0.0'))).status).toBe(204);
    expect(await titles('q=changing')).toEqual([]);
  });

  it('shows a new status, but not as a change to the document', async () => {
    const name = 'io.acme/stated';
    await publish(name, 'Stated', '1.0.0', TEAM);
    const [before] = await find('q=stated');
    const patch = (status: string) => admin().patch(entryAt('server', name, '/status'), { status });
    expect((await patch('deprecated')).status).toBe(200);
    expect(await find('q=stated')).toEqual([{ ...before, status: 'deprecated' }]);
    expect((await patch('deleted')).status).toBe(200);
    expect(await find('q=stated')).toEqual([]);
  });

  it('follows claims, for callers who gain and who lose access', async () => {
    const name = 'io.acme/moving';
    await publish(name, 'Moving', '1.0.0', TEAM);
    await publish('io.acme/moving-not', 'Staying', '1.0.0', TEAM);
    expect(await titles('q=moving')).toEqual(['Moving', 'Staying']);
    expect(await titles('q=moving', ACME_DATA)).toEqual([]);
    const claims = { org: 'acme', team: 'data' };
    expect((await admin().put(entryAt('server', name, '/claims'), { claims })).status).toBe(204);
    expect(await titles('q=moving')).toEqual(['Staying']);
    expect(await titles('q=moving', ACME_DATA)).toEqual(['Moving']);
  });

  it('lets an earlier source shadow an entry, and shows it again', async () => {
    await publish('io.acme/shared', 'Published', '1.0.0', TEAM);
    expect(await titles('q=shared')).toEqual(['Published']);
    const filed = aServer('io.acme/shared', '0.1.0', { title: 'Filed' });
    await service.rewrite('first', { servers: [...others, filed] });
    await service.synced('first');
    expect(await titles('q=shared')).toEqual(['Filed']);
    expect(await titles('q=published')).toEqual([]);
    await service.rewrite('first', { servers: others });
    await service.synced('first');
    expect(await titles('q=shared')).toEqual(['Published']);
  });

  it('finds a change that other searches are waiting for, and later changes', async () => {
    await publish('io.acme/late', 'Late', '1.0.0', TEAM);
    expect(await titles('q=late')).toEqual(['Late']);
    const { database } = service;
    await database.query('begin');
    let published = Promise.resolve();
    try {
      await database.query(
        `with raised as (update source set revision = revision + 1 where name = 'published' returning id, revision)
         update entry e set revision = r.revision from raised r where e.source_id = r.id and e.name = 'io.acme/late'`,
      );
      await database.query(
        `update entry_version set summary = '{"tags":["later"],"transports":[],"installable":false,"title":"Later"}'
         where entry_id = (select id from entry where name = 'io.acme/late')`,
      );
      published = publish('io.acme/earlier', 'Earlier', '1.0.0', TEAM);
      const waits = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      await expect.poll(() => database.query(waits)).not.toEqual([]);
      expect(await titles('q=earlier')).toEqual([]);
      expect(await titles('tag=later')).toEqual([]);
    } finally {
      await database.query('commit');
      await published;
    }
    expect(await titles('tag=later&limit=5')).toEqual(['Later']);
    expect(await titles('q=earlier')).toEqual(['Earlier']);
  });

  it('summarizes versions that were stored without a summary', async () => {
    await publish('io.acme/kept', 'Kept', '1.0.0', TEAM);
    await service.database.query(
      `update entry_version set summary = null where entry_id = (select id from entry where name = 'io.acme/kept')`,
    );
    expect(await titles('q=kept')).toEqual(['Kept']);
  });

  it('updates the date of a synced document only when the document changes', async () => {
    const rewrite = async (title: string) => {
      const synced = aServer('io.acme/synced', '1.0.0', { title });
      await service.rewrite('first', { servers: [...others, synced] });
      await service.synced('first');
      return (await find('q=synced'))[0]?.updatedAt ?? '';
    };
    const first = await rewrite('One');
    expect(await rewrite('One')).toBe(first);
    expect((await rewrite('Two')) > first).toBe(true);
  });
});
