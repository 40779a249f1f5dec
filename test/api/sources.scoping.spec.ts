import { describe, expect, it } from 'vitest';
import { entriesIn, outcomeOf, serversIn, sourcesIn } from '../support/answers.js';
import { ACME_ADMIN, ACME_DATA, CONTOSO_ADMIN, CONTOSO_READER, SUPER_ADMIN } from '../support/callers.js';
import { aServer, aSkill } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { aService } from '../support/service.js';

describe('sources of several organizations', () => {
  const service = aService({ mode: 'full' })
    .source('acme', {
      claims: { org: 'acme' },
      servers: [aServer('io.acme/a')],
      skills: [aSkill('io.acme/review')],
    })
    .source('acme-data', { claims: { org: 'acme', team: 'data' }, servers: [aServer('io.acme/d')] })
    .source('contoso', { claims: { org: 'contoso' }, servers: [aServer('com.contoso/c')] })
    .source('plain', { servers: [aServer('io.acme/plain')] })
    .source('managed', { kind: 'managed', claims: { org: 'acme' } })
    .registry('all', { sources: ['acme', 'acme-data', 'contoso', 'plain', 'managed'] })
    .runs();

  it.each([
    [{ role: 'admin' }, ['plain']],
    [ACME_ADMIN, ['acme', 'managed', 'plain']],
    [{ ...ACME_ADMIN, team: 'data' }, ['acme', 'acme-data', 'managed', 'plain']],
    [{ ...ACME_ADMIN, org: ['acme', 'contoso'] }, ['acme', 'contoso', 'managed', 'plain']],
    [CONTOSO_ADMIN, ['contoso', 'plain']],
    [SUPER_ADMIN, ['acme', 'acme-data', 'contoso', 'managed', 'plain']],
  ])('are listed for %j only where the caller covers their claims: %j', async (caller, names) => {
    expect(sourcesIn(await service.as(caller).get('/v1/sources'))).toEqual(names);
  });

  it('show all their entries to their managers, including otherwise hidden ones', async () => {
    const entries = entriesIn(await service.as(ACME_ADMIN).get('/v1/sources/acme/entries'));
    expect(entries.map(({ type, name, claims }) => ({ type, name, claims }))).toEqual([
      { type: 'server', name: 'io.acme/a', claims: { org: 'acme' } },
      { type: 'skill', name: 'io.acme/review', claims: { org: 'acme' } },
    ]);
    const plain = entriesIn(await service.as(ACME_ADMIN).get('/v1/sources/plain/entries'));
    expect(plain.map(({ name, claims }) => ({ name, claims }))).toEqual([
      { name: 'io.acme/plain', claims: {} },
    ]);
    expect(serversIn(await service.as(ACME_ADMIN).get('/registry/all/v0.1/servers'))).toEqual(['io.acme/a']);
  });

  it.each(['/v1/sources/acme', '/v1/sources/acme/entries'])(
    'are 404 for other admins: GET %s',
    async (path) => {
      expect(outcomeOf(await service.as(ACME_ADMIN).get(path))).toBe('200');
      expect(outcomeOf(await service.as({ ...ACME_ADMIN, org: 'contoso' }).get(path))).toBe(
        '404 source_not_found',
      );
      expect(outcomeOf(await service.as({ ...ACME_ADMIN, role: 'reader' }).get(path))).toBe(
        '403 role_required',
      );
    },
  );

  it('can be synced by their managers only', async () => {
    const path = '/v1/sources/acme/sync';
    expect(outcomeOf(await service.as(ACME_ADMIN).post(path))).toBe('202');
    expect(outcomeOf(await service.as({ ...ACME_ADMIN, org: 'contoso' }).post(path))).toBe(
      '404 source_not_found',
    );
    expect(outcomeOf(await service.as(SUPER_ADMIN).post(path))).toBe('202');
  });
});

describe("a change to a source's claims", () => {
  const folder = aFolder();
  const file = { path: folder.catalogue('made', [aServer('io.acme/made')], [aSkill('io.acme/made')]) };
  const body = (claims?: object) => ({ file, syncPolicy: { interval: '1h' }, ...(claims ? { claims } : {}) });
  const service = aService({ mode: 'full' })
    .source('plain', { servers: [aServer('io.acme/plain')] })
    .registry('plain', { sources: ['plain'] })
    .configuration({ adminFileRoot: folder.path })
    .runs();
  const superAdmin = () => service.as(SUPER_ADMIN);

  /** Creates a source with entries through the API, and a registry for it. */
  async function aMadeSource(name: string, claims: object): Promise<string> {
    expect(outcomeOf(await superAdmin().put(`/v1/sources/${name}`, body(claims)))).toBe('201');
    expect(outcomeOf(await superAdmin().put(`/v1/registries/${name}`, { sources: [name] }))).toBe('201');
    expect((await service.synced(name)).status).toBe('complete');
    return `/registry/${name}/v0.1/servers`;
  }

  it('applies to its entries from the next request', async () => {
    const list = await aMadeSource('moves', { org: 'acme' });
    expect(serversIn(await service.as(ACME_DATA).get(list))).toEqual(['io.acme/made']);
    expect(serversIn(await service.as(CONTOSO_READER).get(list))).toEqual([]);
    await superAdmin().put('/v1/sources/moves', body({ org: 'contoso' }));
    expect(serversIn(await service.as(ACME_DATA).get(list))).toEqual([]);
    expect(serversIn(await service.as(CONTOSO_READER).get(list))).toEqual(['io.acme/made']);
    const entries = entriesIn(await superAdmin().get('/v1/sources/moves/entries'));
    expect(entries.map(({ claims }) => claims)).toEqual([{ org: 'contoso' }, { org: 'contoso' }]);
  });

  it('is visible to the next request, and so is the change back', async () => {
    const list = await aMadeSource('swings', { org: 'acme' });
    for (let round = 0; round < 4; round++) {
      const org = round % 2 === 0 ? 'contoso' : 'acme';
      await superAdmin().put('/v1/sources/swings', body({ org }));
      expect(serversIn(await service.as(ACME_DATA).get(list))).toEqual(
        org === 'acme' ? ['io.acme/made'] : [],
      );
      expect(serversIn(await service.as(CONTOSO_READER).get(list))).toEqual(
        org === 'contoso' ? ['io.acme/made'] : [],
      );
    }
  });

  it('to none hides its entries from all but super-admins', async () => {
    const list = await aMadeSource('cleared', { org: 'acme' });
    await superAdmin().put('/v1/sources/cleared', body());
    expect(serversIn(await service.as(ACME_DATA).get(list))).toEqual([]);
    expect(serversIn(await superAdmin().get(list))).toEqual(['io.acme/made']);
    expect((await superAdmin().get('/v1/sources/cleared')).json).toMatchObject({ claims: {} });
  });

  describe('together with other settings', () => {
    const elsewhere = { path: folder.catalogue('elsewhere', [aServer('io.acme/elsewhere')]) };
    const absent = { path: `${folder.path}/absent.json` };
    const filter = { names: { exclude: ['*made'] } };
    const forContoso = (more: object) => ({ ...body({ org: 'contoso' }), ...more });

    it.each([
      ['filter', 'refiltered', { filter }, []],
      ['place', 'moved', { file: elsewhere }, ['io.acme/elsewhere']],
    ])('hides everything that was read from the old %s', async (_what, name, more, afterwards) => {
      const list = await aMadeSource(name, { org: 'acme' });
      await superAdmin().put(`/v1/sources/${name}`, forContoso(more));
      expect(serversIn(await service.as(CONTOSO_READER).get(list))).not.toContain('io.acme/made');
      expect((await service.synced(name)).status).toBe('complete');
      expect(serversIn(await service.as(ACME_DATA).get(list))).toEqual([]);
      expect(serversIn(await service.as(CONTOSO_READER).get(list))).toEqual(afterwards);
    });

    it('hides the entries while the new location is unreadable and shows them again with the old one', async () => {
      const list = await aMadeSource('unreadable', { org: 'acme' });
      await superAdmin().put('/v1/sources/unreadable', { ...body({ org: 'acme' }), file: absent });
      expect((await service.synced('unreadable')).status).toBe('failed');
      expect(serversIn(await service.as(ACME_DATA).get(list))).toEqual(['io.acme/made']);
      await superAdmin().put('/v1/sources/unreadable', forContoso({ file: absent }));
      for (const caller of [ACME_DATA, CONTOSO_READER])
        expect(serversIn(await service.as(caller).get(list))).toEqual([]);
      await superAdmin().put('/v1/sources/unreadable', forContoso({}));
      expect((await service.synced('unreadable')).status).toBe('complete');
      expect(serversIn(await service.as(CONTOSO_READER).get(list))).toEqual(['io.acme/made']);
      expect(serversIn(await service.as(ACME_DATA).get(list))).toEqual([]);
    });
  });

  it('survives the next sync', async () => {
    const list = await aMadeSource('synced-after', { org: 'acme' });
    await superAdmin().put('/v1/sources/synced-after', body({ org: 'contoso' }));
    expect((await service.synced('synced-after')).status).toBe('complete');
    expect(serversIn(await service.as(ACME_DATA).get(list))).toEqual([]);
    expect(serversIn(await service.as(CONTOSO_READER).get(list))).toEqual(['io.acme/made']);
  });
});
