import { describe, expect, it } from 'vitest';
import { entriesIn, openRegistriesIn, outcomeOf, registriesIn, serversIn } from '../support/answers.js';
import { ACME_ADMIN, ACME_DATA, CONTOSO_ADMIN, CONTOSO_READER, SUPER_ADMIN } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import { aService } from '../support/service.js';

describe('registries of several organizations', () => {
  const service = aService({ mode: 'full' })
    .source('acme', {
      claims: { org: 'acme' },
      servers: [aServer('io.acme/a'), aServer('io.acme/both', '1.0.0')],
    })
    .source('data', {
      claims: { org: 'acme', team: 'data' },
      servers: [aServer('io.acme/both', '2.0.0'), aServer('io.acme/both', '2.1.0')],
    })
    .source('contoso', { claims: { org: 'contoso' }, servers: [aServer('com.contoso/c')] })
    .registry('acme', { sources: ['acme', 'data'], claims: { org: 'acme' } })
    .registry('acme-data', { sources: ['data'], claims: { org: 'acme', team: 'data' } })
    .registry('contoso', { sources: ['contoso'], claims: { org: 'contoso' } })
    .registry('open', { sources: ['acme', 'contoso'] })
    .runs();

  it.each([
    [{ role: 'admin' }, ['open']],
    [ACME_ADMIN, ['acme', 'open']],
    [{ ...ACME_ADMIN, team: 'data' }, ['acme', 'acme-data', 'open']],
    [{ ...ACME_ADMIN, org: ['acme', 'contoso'] }, ['acme', 'contoso', 'open']],
    [CONTOSO_ADMIN, ['contoso', 'open']],
    [SUPER_ADMIN, ['acme', 'acme-data', 'contoso', 'open']],
  ])('are listed for %j only where the caller covers their claims: %j', async (caller, names) => {
    expect(registriesIn(await service.as(caller).get('/v1/registries'))).toEqual(names);
  });

  it('show their managers all entries of all sources, including shadowed and hidden ones', async () => {
    const entries = entriesIn(await service.as(ACME_ADMIN).get('/v1/registries/acme/entries'));
    expect(
      entries.map(({ name, claims, versions }) => [name, claims, versions.map(({ version }) => version)]),
    ).toEqual(
      expect.arrayContaining([
        ['io.acme/a', { org: 'acme' }, ['1.0.0']],
        ['io.acme/both', { org: 'acme' }, ['1.0.0']],
        ['io.acme/both', { org: 'acme', team: 'data' }, ['2.1.0', '2.0.0']],
      ]),
    );
    expect(entries).toHaveLength(3);
    expect(serversIn(await service.as(ACME_ADMIN).get('/registry/acme/v0.1/servers'))).toEqual([
      'io.acme/a',
      'io.acme/both',
    ]);
  });

  it.each(['/v1/registries/acme', '/v1/registries/acme/entries'])(
    'are 404 for other admins: GET %s',
    async (path) => {
      expect(outcomeOf(await service.as(ACME_ADMIN).get(path))).toBe('200');
      expect(outcomeOf(await service.as({ ...ACME_ADMIN, org: 'contoso' }).get(path))).toBe(
        '404 registry_not_found',
      );
      expect(outcomeOf(await service.as({ ...ACME_ADMIN, role: 'reader' }).get(path))).toBe(
        '403 role_required',
      );
    },
  );

  it.each([
    { what: 'a source of its own', sources: ['acme'], answer: '201' },
    { what: 'a hidden source', sources: ['contoso'], answer: '400 unknown_source' },
    { what: 'a hidden source among others', sources: ['acme', 'data'], answer: '400 unknown_source' },
    { what: 'an unknown source', sources: ['nowhere'], answer: '400 unknown_source' },
  ])('PUT with $what returns $answer', async ({ what, sources, answer }) => {
    const path = `/v1/registries/${what.replaceAll(' ', '-')}`;
    const reply = await service.as(ACME_ADMIN).put(path, { sources, claims: { org: 'acme' } });
    expect(outcomeOf(reply)).toBe(answer);
  });

  it('respond identically for a hidden and an unknown source', async () => {
    const caller = service.as(ACME_ADMIN);
    const hidden = await caller.put('/v1/registries/compared', { sources: ['contoso'] });
    const missing = await caller.put('/v1/registries/compared', { sources: ['nowhere'] });
    const text = (reply: { text: string; json: { requestId: string } }) =>
      reply.text.replace(reply.json.requestId, '').replaceAll(/contoso|nowhere/g, 'NAME');
    expect(text(hidden)).toBe(text(missing));
  });
});

describe('a changed registry', () => {
  const service = aService({ mode: 'full' })
    .source('acme', { claims: { org: 'acme' }, servers: [aServer('io.acme/a')] })
    .source('shared', { claims: { shared: 'yes' }, servers: [aServer('io.acme/shared')] })
    .registry('first', { sources: ['acme'] })
    .runs();
  const shares = { ...CONTOSO_READER, shared: 'yes' };

  it('applies new claims to the gate for the next request', async () => {
    const path = '/v1/registries/gate';
    const list = '/registry/gate/v0.1/servers';
    const admin = service.as({ ...ACME_ADMIN, org: ['acme', 'contoso'] });
    expect(outcomeOf(await admin.put(path, { sources: ['acme'], claims: { org: 'acme' } }))).toBe('201');
    expect(serversIn(await service.as(ACME_DATA).get(list))).toEqual(['io.acme/a']);
    expect(outcomeOf(await service.as(CONTOSO_READER).get(list))).toBe('403 registry_forbidden');
    expect(outcomeOf(await admin.put(path, { sources: ['acme'], claims: { org: 'contoso' } }))).toBe('200');
    expect(outcomeOf(await service.as(ACME_DATA).get(list))).toBe('403 registry_forbidden');
    expect(outcomeOf(await service.as(CONTOSO_READER).get(list))).toBe('200');
    expect(outcomeOf(await admin.delete(path))).toBe('204');
    expect(outcomeOf(await service.as(CONTOSO_READER).get(list))).toBe('404 registry_not_found');
  });

  it('serves its new sources to the next request', async () => {
    const path = '/v1/registries/sources';
    const list = '/registry/sources/v0.1/servers';
    const admin = service.as({ ...ACME_ADMIN, shared: 'yes' });
    await admin.put(path, { sources: ['acme'] });
    expect(serversIn(await service.as(shares).get(list))).toEqual([]);
    await admin.put(path, { sources: ['acme', 'shared'] });
    expect(serversIn(await service.as(shares).get(list))).toEqual(['io.acme/shared']);
    await admin.put(path, { sources: ['acme'] });
    expect(serversIn(await service.as(shares).get(list))).toEqual([]);
  });

  it('appears in and disappears from GET /registry', async () => {
    const admin = service.as(ACME_ADMIN);
    await admin.put('/v1/registries/listed', { sources: ['acme'], claims: { org: 'acme' } });
    expect(openRegistriesIn(await service.as(ACME_DATA).get('/registry'))).toContain('listed');
    expect(openRegistriesIn(await service.as(CONTOSO_READER).get('/registry'))).not.toContain('listed');
    await admin.delete('/v1/registries/listed');
    expect(openRegistriesIn(await service.as(ACME_DATA).get('/registry'))).not.toContain('listed');
  });
});
