import { beforeAll, describe, expect, it } from 'vitest';
import { outcomeOf, registriesIn } from '../support/answers.js';
import { SUPER_ADMIN } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import { aService } from '../support/service.js';
import { expectOneClaimApart } from '../support/claims-pairs.js';

const manager = { org: 'acme', role: 'admin' };
const reader = { org: 'acme', role: 'reader' };
const writer = { org: 'acme', role: 'writer' };
const outsider = { org: 'contoso', role: 'reader' };

describe.each([
  { readersMay: true, policy: { registryListing: 'readers' } },
  { readersMay: false, policy: {} },
])('GET /v1/registries, policy $policy', ({ readersMay, policy }) => {
  const service = aService({ mode: 'full', policy })
    .source('tools', { claims: { org: 'acme' }, servers: [aServer('io.acme/a')] })
    .registry('acme', { sources: ['tools'], claims: { org: 'acme' } })
    .registry('open', { sources: ['tools'] })
    .runs();
  beforeAll(() =>
    service.as(SUPER_ADMIN).put('/v1/registries/made', { sources: ['tools'], claims: { org: 'acme' } }),
  );
  const refused = '403 role_required';

  it('is tested with callers that differ in one claim', () => {
    expectOneClaimApart(manager, reader);
    expectOneClaimApart(reader, outsider);
  });

  it('returns the registries whose claims a manager covers', async () => {
    expect(registriesIn(await service.as(manager).get('/v1/registries'))).toEqual(['acme', 'made', 'open']);
    const foreign = await service.as({ ...manager, org: 'contoso' }).get('/v1/registries');
    expect(registriesIn(foreign)).toEqual(['open']);
  });

  it.each([
    { caller: reader, names: ['acme', 'made', 'open'] },
    { caller: writer, names: ['acme', 'made', 'open'] },
    { caller: outsider, names: ['open'] },
  ])(readersMay ? 'returns $names to $caller' : 'returns 403 to $caller', async ({ caller, names }) => {
    const reply = await service.as(caller).get('/v1/registries');
    expect(readersMay ? registriesIn(reply) : outcomeOf(reply)).toEqual(readersMay ? names : refused);
  });

  it.each([
    { caller: manager, path: '/v1/registries/acme', answer: '200' },
    { caller: { ...manager, org: 'contoso' }, path: '/v1/registries/acme', answer: '404 registry_not_found' },
    { caller: manager, path: '/v1/registries/nowhere', answer: '404 registry_not_found' },
    { caller: reader, path: '/v1/registries/acme', answer: readersMay ? '200' : refused },
    { caller: writer, path: '/v1/registries/acme', answer: readersMay ? '200' : refused },
    {
      caller: outsider,
      path: '/v1/registries/acme',
      answer: readersMay ? '404 registry_not_found' : refused,
    },
    { caller: outsider, path: '/v1/registries/open', answer: readersMay ? '200' : refused },
    {
      caller: reader,
      path: '/v1/registries/nowhere',
      answer: readersMay ? '404 registry_not_found' : refused,
    },
    { caller: SUPER_ADMIN, path: '/v1/registries/acme', answer: '200' },
  ])('GET $path as $caller returns $answer', async ({ caller, path, answer }) => {
    expect(outcomeOf(await service.as(caller).get(path))).toBe(answer);
  });

  const forManagers = [
    { method: 'GET', path: '/v1/registries/acme/entries', answer: '200' },
    { method: 'PUT', path: '/v1/registries/made', answer: '200' },
    { method: 'PUT', path: '/v1/registries/acme', answer: '403 config_managed' },
    { method: 'DELETE', path: '/v1/registries/acme', answer: '403 config_managed' },
    { method: 'GET', path: '/v1/sources', answer: '200' },
    { method: 'GET', path: '/v1/sources/tools', answer: '200' },
  ];
  const body = { sources: ['tools'], claims: { org: 'acme' } };
  const sent = (method: string) => (method === 'PUT' ? { body } : {});

  it.each(forManagers)('$method $path requires a manage role', async ({ method, path, answer }) => {
    expect(outcomeOf(await service.as(manager).send(method, path, sent(method)))).toBe(answer);
    expect(outcomeOf(await service.as(reader).send(method, path, sent(method)))).toBe(refused);
    expect(outcomeOf(await service.as(writer).send(method, path, sent(method)))).toBe(refused);
  });

  it('requires a token', async () => {
    expect(outcomeOf(await service.get('/v1/registries'))).toBe('401 token_missing');
    expect(outcomeOf(await service.get('/v1/registries/open'))).toBe('401 token_missing');
  });
});
