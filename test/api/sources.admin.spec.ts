import { describe, expect, it } from 'vitest';
import { outcomeOf, serversIn } from '../support/answers.js';
import { ACME_ADMIN, ACME_DATA, CONTOSO_ADMIN } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { aService } from '../support/service.js';

const DATE = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/) as string;

const folder = aFolder();
const service = aService({ mode: 'full' })
  .source('tools', { claims: { org: 'acme' }, servers: [aServer('io.acme/a')] })
  .registry('tools', { sources: ['tools'] })
  .configuration({ adminFileRoot: folder.path })
  .runs();
const admin = () => service.as(ACME_ADMIN);

describe('a source created through the API', () => {
  const path = folder.catalogue('made', [aServer('io.acme/made'), aServer('com.other/made')]);
  const settings = { file: { path }, syncPolicy: { interval: '1h' }, claims: { org: 'acme' } };
  const stored = async (name: string) =>
    (await admin().get(`/v1/sources/${name}`)).json as { createdAt: string; updatedAt: string };

  it('is created, read and served to consumers', async () => {
    expect(outcomeOf(await admin().put('/v1/sources/created', settings))).toBe('201');
    await service.synced('created');
    expect(await stored('created')).toEqual({
      name: 'created',
      kind: 'file',
      ...settings,
      origin: 'api',
      createdAt: DATE,
      updatedAt: DATE,
      sync: {
        status: 'complete',
        format: 'registry',
        lastAttemptAt: DATE,
        lastSuccessAt: DATE,
        nextRunAt: DATE,
        attempts: 0,
        counts: expect.objectContaining({ entries: 2 }) as object,
        skipped: [],
      },
    });
    await admin().put('/v1/registries/created', { sources: ['created'] });
    const list = await service.as(ACME_DATA).get('/registry/created/v0.1/servers');
    expect(serversIn(list)).toEqual(['com.other/made', 'io.acme/made']);
  });

  it('is listed by the status of its sync', async () => {
    const broken = { ...settings, file: { path: folder.write('broken.json', '{') } };
    expect(outcomeOf(await admin().put('/v1/sources/broken', broken))).toBe('201');
    const names = async (status: string, claims = ACME_ADMIN) => {
      const reply = await service.as(claims).get(`/v1/sources?status=${status}`);
      return (reply.json as { sources: { name: string }[] }).sources.map(({ name }) => name);
    };
    await expect.poll(() => names('failed')).toEqual(['broken']);
    expect(await names('complete')).not.toContain('broken');
    expect(await names('')).toContain('broken');
    expect(await names('failed', CONTOSO_ADMIN)).toEqual([]);
    expect(outcomeOf(await admin().get('/v1/sources?status=bad'))).toBe('400 invalid_parameter');
    expect(outcomeOf(await admin().delete('/v1/sources/broken'))).toBe('204');
  });

  it('is synced soon, without a manual sync', async () => {
    await admin().put('/v1/sources/soon', settings);
    await admin().put('/v1/registries/soon', { sources: ['soon'] });
    await expect
      .poll(async () => serversIn(await service.as(ACME_DATA).get('/registry/soon/v0.1/servers')), {
        timeout: 10_000,
      })
      .toEqual(['com.other/made', 'io.acme/made']);
  });

  it('is replaced as a whole: omitted settings are removed', async () => {
    const filter = { names: { include: ['io.acme/*'], exclude: [] } };
    expect(outcomeOf(await admin().put('/v1/sources/replaced', { ...settings, filter }))).toBe('201');
    await service.synced('replaced');
    await admin().put('/v1/registries/replaced', { sources: ['replaced'] });
    const list = () => service.as(ACME_DATA).get('/registry/replaced/v0.1/servers');
    expect(serversIn(await list())).toEqual(['io.acme/made']);
    const before = await stored('replaced');
    expect(before).toMatchObject({ filter: { names: { include: ['io.acme/*'] } } });
    expect(outcomeOf(await admin().put('/v1/sources/replaced', settings))).toBe('200');
    const after = await stored('replaced');
    expect(after).not.toHaveProperty('filter');
    expect(after.createdAt).toBe(before.createdAt);
    expect(Date.parse(after.updatedAt)).toBeGreaterThan(Date.parse(before.updatedAt));
    await service.synced('replaced');
    expect(serversIn(await list())).toEqual(['com.other/made', 'io.acme/made']);
  });

  it('accepts the same PUT twice', async () => {
    expect(outcomeOf(await admin().put('/v1/sources/twice', settings))).toBe('201');
    expect(outcomeOf(await admin().put('/v1/sources/twice', settings))).toBe('200');
  });

  it('accepts another interval', async () => {
    await admin().put('/v1/sources/interval', settings);
    const body = { ...settings, syncPolicy: { interval: '5m' } };
    expect(outcomeOf(await admin().put('/v1/sources/interval', body))).toBe('200');
    expect(await stored('interval')).toMatchObject({ syncPolicy: { interval: '5m' } });
  });

  it('is deleted with its entries', async () => {
    await admin().put('/v1/sources/deleted', settings);
    await service.synced('deleted');
    const reply = await admin().delete('/v1/sources/deleted');
    expect({ status: reply.status, text: reply.text }).toEqual({ status: 204, text: '' });
    for (const [method, below] of [
      ['GET', ''],
      ['DELETE', ''],
      ['GET', '/entries'],
      ['POST', '/sync'],
    ] as const)
      expect(outcomeOf(await admin().send(method, `/v1/sources/deleted${below}`))).toBe(
        '404 source_not_found',
      );
    const [left] = await service.database.query(
      `select 1 from entry e left join source s on s.id = e.source_id where s.id is null`,
    );
    expect(left).toBeUndefined();
  });

  it('can be recreated under its name with other settings and another kind', async () => {
    await admin().put('/v1/sources/again', settings);
    await admin().delete('/v1/sources/again');
    expect(outcomeOf(await admin().put('/v1/sources/again', { managed: {} }))).toBe('201');
    expect(outcomeOf(await admin().delete('/v1/sources/again'))).toBe('204');
  });

  it('cannot be deleted while a registry uses it', async () => {
    await admin().put('/v1/sources/used', settings);
    await admin().put('/v1/registries/using', { sources: ['tools', 'used'] });
    expect(outcomeOf(await admin().delete('/v1/sources/used'))).toBe('409 source_in_use');
    expect(outcomeOf(await admin().get('/v1/sources/used'))).toBe('200');
    await admin().delete('/v1/registries/using');
    expect(outcomeOf(await admin().delete('/v1/sources/used'))).toBe('204');
  });

  it('cannot change its kind', async () => {
    await admin().put('/v1/sources/kind', settings);
    const claims = settings.claims;
    expect(outcomeOf(await admin().put('/v1/sources/kind', { managed: {}, claims }))).toBe(
      '400 kind_immutable',
    );
    expect(await stored('kind')).toMatchObject({ kind: 'file', file: { path } });
    expect(outcomeOf(await admin().put('/v1/sources/kind', settings))).toBe('200');
  });

  it.each(['a', '0', 'a-b', '1-2-3', 'x'.repeat(63)])('may be named %s', async (name) => {
    expect(outcomeOf(await admin().put(`/v1/sources/${name}`, settings))).toBe('201');
    expect(outcomeOf(await admin().get(`/v1/sources/${name}`))).toBe('200');
  });

  it.each([
    'A',
    'a_b',
    '-a',
    'a-',
    'a.b',
    'x'.repeat(64),
    '%20',
    'a%2Fb',
    '%C3%A4',
    'a%00',
    '..%2Fa',
    '%2E%2E',
  ])('cannot be named %s', async (name) => {
    expect(outcomeOf(await admin().put(`/v1/sources/${name}`, settings))).toBe('400 invalid_name');
    expect(outcomeOf(await admin().get(`/v1/sources/${name}`))).toBe('404 source_not_found');
    expect(outcomeOf(await admin().delete(`/v1/sources/${name}`))).toBe('404 source_not_found');
  });
});

describe('the managed source', () => {
  const managed = { managed: {}, claims: { org: 'acme' } };

  it('is unique, is not synced, and can be replaced after deletion', async () => {
    expect(outcomeOf(await admin().put('/v1/sources/first', managed))).toBe('201');
    expect((await admin().get('/v1/sources/first')).json).toEqual({
      name: 'first',
      kind: 'managed',
      ...managed,
      origin: 'api',
      createdAt: DATE,
      updatedAt: DATE,
    });
    expect(outcomeOf(await admin().put('/v1/sources/second', managed))).toBe('409 managed_source_exists');
    expect(outcomeOf(await admin().get('/v1/sources/second'))).toBe('404 source_not_found');
    expect(outcomeOf(await admin().put('/v1/sources/first', { managed: {} }))).toBe('200');
    expect(outcomeOf(await admin().post('/v1/sources/first/sync'))).toBe('400 not_synced');
    expect(outcomeOf(await admin().delete('/v1/sources/first'))).toBe('204');
    expect(outcomeOf(await admin().put('/v1/sources/second', managed))).toBe('201');
    expect(outcomeOf(await admin().delete('/v1/sources/second'))).toBe('204');
  });

  it('is offered as a kind while there is none, along with the kinds that the configuration allows', async () => {
    const read = async (claims = ACME_ADMIN) =>
      (await service.as(claims).get('/v1/source-kinds')).json as { kinds: string[] };
    expect(await read()).toEqual({ kinds: ['file', 'git', 'api', 'managed'], files: true });
    expect(outcomeOf(await admin().put('/v1/sources/offered', managed))).toBe('201');
    expect((await read()).kinds).toEqual(['file', 'git', 'api']);
    expect(outcomeOf(await admin().delete('/v1/sources/offered'))).toBe('204');
    expect(outcomeOf(await service.as(ACME_DATA).get('/v1/source-kinds'))).toBe('403 role_required');
  });

  it('is unique under concurrent requests', async () => {
    const replies = await Promise.all(
      ['left', 'right', 'middle'].map((name) => admin().put(`/v1/sources/${name}-at-once`, managed)),
    );
    expect(replies.map(outcomeOf).sort()).toEqual([
      '201',
      '409 managed_source_exists',
      '409 managed_source_exists',
    ]);
    for (const name of ['left', 'right', 'middle']) await admin().delete(`/v1/sources/${name}-at-once`);
  });
});
