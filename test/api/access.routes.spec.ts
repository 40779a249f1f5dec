import { beforeAll, describe, expect, it } from 'vitest';
import { outcomeOf } from '../support/answers.js';
import { aServer } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { aService } from '../support/service.js';
import { expectOneClaimApart } from '../support/claims-pairs.js';

const ROLES = ['super', 'sources', 'registries', 'writer', 'none'] as const;
const acme = (role: string) => ({ org: 'acme', role });

interface Row {
  method: 'GET' | 'PUT' | 'DELETE' | 'POST';
  path: string;
  role: 'sources' | 'registries';
  answer: string;
  body?: unknown;
}

describe('roles of the admin routes', () => {
  const folder = aFolder();
  const file = { path: folder.catalogue('tools', [aServer('io.acme/a')]) };
  const aFile = { file, syncPolicy: { interval: '1h' }, claims: { org: 'acme' } };
  const aView = { sources: ['tools'], claims: { org: 'acme' } };
  const service = aService({
    mode: 'full',
    roles: {
      superAdmin: [{ role: 'super' }],
      manageSources: [{ role: 'sources' }],
      manageRegistries: [{ role: 'registries' }],
      manageEntries: [{ role: 'writer' }],
    },
  })
    .source('tools', { claims: { org: 'acme' }, servers: [aServer('io.acme/a')] })
    .registry('tools', { sources: ['tools'], claims: { org: 'acme' } })
    .configuration({ adminFileRoot: folder.path })
    .runs();

  beforeAll(async () => {
    for (const role of ['super', 'sources', 'registries']) {
      await service.as(acme('super')).put(`/v1/sources/doomed-${role}`, aFile);
      await service.as(acme('super')).put(`/v1/registries/doomed-${role}`, aView);
    }
  });

  const rows: Row[] = [
    { method: 'GET', path: '/v1/sources', role: 'sources', answer: '200' },
    { method: 'GET', path: '/v1/sources/tools', role: 'sources', answer: '200' },
    { method: 'GET', path: '/v1/sources/tools/entries', role: 'sources', answer: '200' },
    { method: 'GET', path: '/v1/sources/tools/access', role: 'sources', answer: '200' },
    { method: 'POST', path: '/v1/sources/made-ROLE/access', role: 'sources', answer: '200', body: aFile },
    { method: 'GET', path: '/v1/source-kinds', role: 'sources', answer: '200' },
    { method: 'POST', path: '/v1/sources/tools/sync', role: 'sources', answer: '202' },
    { method: 'PUT', path: '/v1/sources/made-ROLE', role: 'sources', answer: '201', body: aFile },
    { method: 'PUT', path: '/v1/sources/tools', role: 'sources', answer: '403 config_managed', body: aFile },
    { method: 'DELETE', path: '/v1/sources/doomed-ROLE', role: 'sources', answer: '204' },
    { method: 'GET', path: '/v1/registries', role: 'registries', answer: '200' },
    { method: 'GET', path: '/v1/registries/tools', role: 'registries', answer: '200' },
    { method: 'GET', path: '/v1/registries/tools/entries', role: 'registries', answer: '200' },
    { method: 'POST', path: '/v1/registries/made-ROLE/access', role: 'registries', answer: '200', body: aView },
    { method: 'PUT', path: '/v1/registries/made-ROLE', role: 'registries', answer: '201', body: aView },
    { method: 'PUT', path: '/v1/registries/tools', role: 'registries', answer: '403 config_managed', body: aView },
    { method: 'DELETE', path: '/v1/registries/doomed-ROLE', role: 'registries', answer: '204' },
  ]; // oxfmt-ignore

  const allowed = rows.flatMap((row) => [row.role, 'super'].map((as) => ({ ...row, as })));
  const refused = rows.flatMap((row) =>
    ROLES.filter((role) => role !== row.role && role !== 'super').map((as) => ({ ...row, as })),
  );

  it.each(allowed)('$method $path as $as returns $answer', async ({ method, path, body, as, answer }) => {
    const reply = await service.as(acme(as)).send(method, path.replace('ROLE', as), { body });
    expect(outcomeOf(reply)).toBe(answer);
  });

  it.each(refused)(
    '$method $path as $as returns 403 role_required',
    async ({ method, path, body, as, role }) => {
      expectOneClaimApart(acme(role), acme(as));
      const reply = await service.as(acme(as)).send(method, path.replace('ROLE', role), { body });
      expect(outcomeOf(reply)).toBe('403 role_required');
    },
  );

  it.each(rows)('$method $path checks the token first', async ({ method, path, body }) => {
    expect(outcomeOf(await service.send(method, path, { body }))).toBe('401 token_missing');
    const reply = await service.bearing('no.such.token').send(method, path, { body });
    expect(outcomeOf(reply)).toBe('401 token_invalid');
  });

  it('the consumer API and /v1/me require no role', async () => {
    for (const path of ['/v1/me', '/registry', '/registry/tools/v0.1/servers'])
      expect(outcomeOf(await service.as({ org: 'acme' }).get(path))).toBe('200');
  });
});
