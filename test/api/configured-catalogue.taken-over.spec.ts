import { afterEach, describe, expect, it } from 'vitest';
import { entriesIn, outcomeOf, serversIn, sourcesIn } from '../support/answers.js';
import { auditOf } from '../support/audit.js';
import { ACME_ADMIN, ACME_DATA, CONTOSO_READER, SUPER_ADMIN } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { call } from '../support/http.js';
import { aService } from '../support/service.js';

const ACME = { org: 'acme' };
const CONTOSO = { org: 'contoso' };
const syncPolicy = { interval: '1h' };

describe('resources created through the API', () => {
  const folder = aFolder();
  const path = folder.catalogue('made', [aServer('io.acme/made')]);
  const service = aService({ mode: 'full' })
    .source('base', { claims: ACME, servers: [aServer('io.acme/base')] })
    .registry('main', { sources: ['base'], claims: ACME })
    .configuration({ adminFileRoot: folder.path })
    .runs();
  const superAdmin = () => service.as(SUPER_ADMIN);
  const seen = async (registry: string, claims: object) =>
    serversIn(await service.as({ ...claims }).get(`/registry/${registry}/v0.1/servers`));
  const put = async (what: string, body: object) => {
    expect((await superAdmin().put(`/v1/${what}`, body)).status).toBe(201);
  };
  const makeSource = async (name: string, claims: object) => {
    await put(`sources/${name}`, { file: { path }, syncPolicy, claims });
    expect((await service.synced(name)).status).toBe('complete');
  };
  const rowOf = async (what: string) =>
    (await superAdmin().get(`/v1/${what}`)).json as { sources: string[]; origin: string; claims: object };
  const applied = async (name: string) =>
    (await auditOf(superAdmin(), `action=config.apply&target=${name}`)).map(({ target, change }) => ({
      type: target.type,
      change,
    }));
  const warnings = () => service.logs().flatMap(({ level, msg }) => (level === 'warn' ? [msg] : []));

  afterEach(async () => {
    service.withoutSource('taken').withoutSource('published').withoutRegistry('taken');
    service
      .source('base', { claims: ACME, servers: [aServer('io.acme/base')] })
      .registry('main', { sources: ['base'], claims: ACME });
    await service.database.query(`delete from registry where origin = 'api'`);
    await service.database.query(`delete from source where origin = 'api'`);
    await service.reload();
  });

  it('a source in the file takes over a source with its name, and its entries get the new claims immediately', async () => {
    await makeSource('taken', ACME);
    await put('registries/weaker', { sources: ['base', 'taken'], claims: ACME });
    await put('registries/open', { sources: ['taken'] });
    await put('registries/stricter', { sources: ['taken'], claims: { ...CONTOSO, team: 'data' } });
    expect(await seen('weaker', ACME_DATA)).toEqual(['io.acme/base', 'io.acme/made']);
    const declared = { settings: { path }, missing: true, claims: CONTOSO };
    const { changes } = await service.reload((edited) => edited.source('taken', declared));
    expect(changes).toEqual([
      'source taken: taken over from the API',
      'registry open: changed',
      'registry weaker: changed',
    ]);
    expect(await rowOf('sources/taken')).toMatchObject({ origin: 'config', claims: CONTOSO });
    expect(outcomeOf(await superAdmin().delete('/v1/sources/taken'))).toBe('403 config_managed');
    // The managers of these registries do not cover the new claims, and they see all entries of a registry.
    expect((await rowOf('registries/weaker')).sources).toEqual(['base']);
    expect((await rowOf('registries/open')).sources).toEqual([]);
    const entries = await service.as(ACME_ADMIN).get('/v1/registries/weaker/entries');
    expect(entriesIn(entries).map(({ name }) => name)).toEqual(['io.acme/base']);
    expect((await rowOf('registries/stricter')).sources).toEqual(['taken']);
    expect(await seen('stricter', { ...CONTOSO_READER, team: 'data' })).toEqual(['io.acme/made']);
    expect(await applied('taken')).toMatchObject([
      {
        type: 'source',
        change: {
          before: { name: 'taken', origin: 'api', claims: ACME },
          after: { name: 'taken', origin: 'config', claims: CONTOSO },
        },
      },
    ]);
    expect(await applied('weaker')).toMatchObject([
      { change: { before: { sources: ['base', 'taken'] }, after: { sources: ['base'] } } },
    ]);
    expect(warnings()).toEqual(
      expect.arrayContaining([
        'The source taken was created through the API: it is now managed by the configuration file',
        'The registry weaker, created through the API, lost its source taken, which was taken over with other claims',
      ]),
    );
    expect((await service.reload()).changes).toEqual([]);
  });

  it('a source that is taken over with the same claims stays in every registry, with its entries', async () => {
    await makeSource('taken', ACME);
    await put('registries/open', { sources: ['taken'] });
    await service.restart((edited) => edited.source('taken', { missing: true, claims: ACME }));
    expect(await rowOf('sources/taken')).toMatchObject({ origin: 'config' });
    expect((await rowOf('registries/open')).sources).toEqual(['taken']);
    expect((await service.synced('taken')).status).toBe('failed');
    expect(await seen('open', ACME_DATA)).toEqual(['io.acme/made']);
    await service.restart((edited) =>
      edited.source('taken', { claims: ACME, servers: [aServer('io.acme/new')] }),
    );
    await service.synced('taken');
    expect(await seen('open', ACME_DATA)).toEqual(['io.acme/new']);
  });

  it('entries from another location and with other claims are hidden until the next successful sync', async () => {
    await makeSource('taken', ACME);
    await service.restart((edited) =>
      edited.source('taken', { missing: true, claims: CONTOSO }).registry('taken', { sources: ['taken'] }),
    );
    for (const reader of [ACME_DATA, CONTOSO_READER]) expect(await seen('taken', reader)).toEqual([]);
    expect(entriesIn(await superAdmin().get('/v1/sources/taken/entries'))).toHaveLength(1);
  });

  it('a source of another kind in the file replaces the source with its name, and its entries are removed', async () => {
    await makeSource('taken', ACME);
    await put('registries/holding', { sources: ['taken', 'base'], claims: ACME });
    await service.restart((edited) => edited.source('taken', { kind: 'managed', claims: ACME }));
    expect(await rowOf('sources/taken')).toMatchObject({ origin: 'config', kind: 'managed' });
    expect((await rowOf('registries/holding')).sources).toEqual(['base']);
    expect(entriesIn(await superAdmin().get('/v1/sources/taken/entries'))).toEqual([]);
    expect(await applied('taken')).toMatchObject([
      { change: { after: { kind: 'managed' } } },
      { change: { before: { kind: 'file' } } },
      ...(await applied('taken')).slice(2),
    ]);
    expect(warnings()).toContain(
      'The source taken, created through the API, was removed with its entries: the configuration file has a source of another kind with this name',
    );
  });

  it('a registry in the file takes over a registry with its name', async () => {
    await put('registries/taken', { sources: ['base'] });
    await service.restart((edited) => edited.registry('taken', { sources: ['base'], claims: CONTOSO }));
    expect(await rowOf('registries/taken')).toMatchObject({ origin: 'config', claims: CONTOSO });
    expect(outcomeOf(await service.as(ACME_DATA).get('/registry/taken/v0.1/servers'))).toBe(
      '403 registry_forbidden',
    );
    expect(outcomeOf(await superAdmin().put('/v1/registries/taken', { sources: ['base'] }))).toBe(
      '403 config_managed',
    );
    expect(await applied('taken')).toMatchObject([
      {
        type: 'registry',
        change: { before: { origin: 'api', claims: {} }, after: { origin: 'config', claims: CONTOSO } },
      },
      ...(await applied('taken')).slice(1),
    ]);
    expect(warnings()).toContain(
      'The registry taken was created through the API: it is now managed by the configuration file',
    );
  });

  it.each(['restart', 'reload'] as const)(
    'a registry loses a source that is removed from the file: %s',
    async (how) => {
      await service.reload((edited) =>
        edited.source('taken', { claims: ACME, servers: [aServer('io.acme/taken')] }),
      );
      await put('registries/holding', { sources: ['taken', 'base'], claims: ACME });
      await put('registries/empty', { sources: ['taken'], claims: ACME });
      await service[how]((edited) => edited.withoutSource('taken'));
      expect(sourcesIn(await superAdmin().get('/v1/sources'))).toEqual(['base']);
      expect((await rowOf('registries/holding')).sources).toEqual(['base']);
      expect(await seen('holding', ACME_DATA)).toEqual(['io.acme/base']);
      expect((await applied('empty'))[0]).toMatchObject({
        change: { before: { sources: ['taken'] }, after: { sources: [] } },
      });
      expect(warnings()).toContain(
        'The registry empty, created through the API, lost its source taken, which was removed',
      );
    },
  );

  it('a registry without sources is empty everywhere, and a PUT must include a source', async () => {
    await service.reload((edited) =>
      edited.source('taken', { claims: ACME, servers: [aServer('io.acme/taken')] }),
    );
    await put('registries/empty', { sources: ['taken'], claims: ACME });
    await service.reload((edited) => edited.withoutSource('taken'));
    for (const caller of [ACME_DATA, SUPER_ADMIN]) {
      const as = service.as(caller);
      expect(await seen('empty', caller)).toEqual([]);
      for (const below of ['servers?search=acme', 'x/dev.toolhive/skills', 'x/client-config?client=cursor'])
        expect(outcomeOf(await as.get(`/registry/empty/v0.1/${below}`))).toBe('200');
      expect(outcomeOf(await as.get('/registry/empty/v0.1/servers/io.acme%2Fbase/versions'))).toBe(
        '404 entry_not_found',
      );
      const asked = { registry: 'empty', entry: { type: 'server', name: 'io.acme/base' } };
      expect((await as.post('/v1/access/explain', asked)).json).toMatchObject({
        answer: { status: 404, code: 'entry_not_found' },
      });
    }
    const admin = service.as(ACME_ADMIN);
    expect(entriesIn(await admin.get('/v1/registries/empty/entries'))).toEqual([]);
    expect((await admin.get('/v1/registries/empty/access')).json).toMatchObject({ claimSets: [] });
    const shown = await admin.get('/v1/registries/empty');
    expect(shown.json).toMatchObject({ sources: [] });
    const again = await admin.put('/v1/registries/empty', shown.json);
    expect(outcomeOf(again)).toBe('400 invalid_body');
    expect(again.text).toMatch(/sources: must not be an empty list/);
    expect(outcomeOf(await admin.put('/v1/registries/empty', { sources: ['base'], claims: ACME }))).toBe(
      '200',
    );
    expect(await seen('empty', ACME_DATA)).toEqual(['io.acme/base']);
  });

  it('a managed source in the file takes over the managed one with its publications, whatever its name', async () => {
    await put('sources/by-hand', { managed: {}, claims: ACME });
    await makeSource('published', ACME);
    await put('registries/holding', { sources: ['by-hand', 'published'], claims: ACME });
    const publish = (server: object) =>
      service.as({ ...ACME, role: 'writer' }).post('/v1/entries', { server, claims: ACME });
    expect((await publish(aServer('io.acme/mine', '1.0.0'))).status).toBe(201);
    await service.restart((edited) =>
      edited
        .source('published', { kind: 'managed', claims: ACME })
        .source('taken', { claims: ACME, servers: [aServer('io.acme/taken')] }),
    );
    expect(await rowOf('sources/published')).toMatchObject({ origin: 'config', kind: 'managed' });
    expect(outcomeOf(await superAdmin().get('/v1/sources/by-hand'))).toBe('404 source_not_found');
    expect((await rowOf('registries/holding')).sources).toEqual(['published']);
    expect(await seen('holding', ACME_DATA)).toEqual(['io.acme/mine']);
    expect((await publish(aServer('io.acme/mine', '1.1.0'))).status).toBe(201);
    expect((await applied('published'))[0]).toMatchObject({
      change: {
        before: { name: 'by-hand', origin: 'api', kind: 'managed' },
        after: { name: 'published', origin: 'config' },
      },
    });
    expect(warnings()).toContain(
      'The source published was created through the API, where it was called by-hand: it is now managed by the configuration file',
    );
  });

  it('a source in the file may have the earlier name of the managed source', async () => {
    await put('sources/taken', { managed: {}, claims: ACME });
    await service.restart((edited) =>
      edited
        .source('taken', { claims: ACME, servers: [aServer('io.acme/taken')] })
        .source('published', { kind: 'managed', claims: ACME }),
    );
    expect(await rowOf('sources/taken')).toMatchObject({ origin: 'config', kind: 'file' });
    expect(await rowOf('sources/published')).toMatchObject({ origin: 'config', kind: 'managed' });
  });

  it('replicas that start at the same time agree, and record each change once', async () => {
    await makeSource('taken', ACME);
    await put('registries/open', { sources: ['taken', 'base'] });
    const before = await applied('open');
    await service.stop();
    service.source('taken', { claims: CONTOSO, servers: [aServer('com.contoso/a')] });
    const replica = service.replica();
    await Promise.all([service.start(), replica.start()]);
    expect((await rowOf('registries/open')).sources).toEqual(['base']);
    expect(await applied('open')).toHaveLength(before.length + 1);
    await expect.poll(async () => (await call(`${replica.internalOrigin}/readiness`)).status).toBe(200);
    await replica.stop();
  });
});
