import { describe, expect, it } from 'vitest';
import { outcomeOf } from '../support/answers.js';
import { ACME_ADMIN, ACME_WRITER, NOBODY, SUPER_ADMIN } from '../support/callers.js';
import { aServer, type Document } from '../support/documents.js';
import { versionsIn } from '../support/matchers.js';
import { contentOf, entryAt, MODES } from '../support/publishing.js';
import { aService } from '../support/service.js';

const claims = { org: 'acme' };
const json = { 'Content-Type': 'application/json' };
const publication = (name: string): Document => ({
  server: aServer(name),
  claims: { ...claims, team: 'platform' },
});

interface Change {
  method: string;
  path: string;
  body?: unknown;
  /** A caller with the role, and one without. */
  by: object;
  notBy: object;
}

const CHANGES: Change[] = [
  { method: 'PUT', path: '/v1/sources/tools', body: {}, by: ACME_ADMIN, notBy: ACME_WRITER },
  { method: 'PUT', path: '/v1/sources/fresh', body: '{"claims":', by: ACME_ADMIN, notBy: ACME_WRITER },
  { method: 'PUT', path: '/v1/sources/No_Name', body: {}, by: ACME_ADMIN, notBy: ACME_WRITER },
  { method: 'DELETE', path: '/v1/sources/tools', by: ACME_ADMIN, notBy: ACME_WRITER },
  { method: 'DELETE', path: '/v1/sources/nowhere', by: ACME_ADMIN, notBy: ACME_WRITER },
  { method: 'DELETE', path: '/v1/sources/hidden', by: ACME_ADMIN, notBy: ACME_WRITER },
  { method: 'POST', path: '/v1/sources/tools/sync', by: ACME_ADMIN, notBy: ACME_WRITER },
  { method: 'POST', path: '/v1/sources/hidden/sync', by: ACME_ADMIN, notBy: ACME_WRITER },
  { method: 'PUT', path: '/v1/registries/main', body: { sources: ['tools'] }, by: ACME_ADMIN, notBy: ACME_WRITER },
  { method: 'PUT', path: '/v1/registries/fresh', body: { sources: ['tools'] }, by: ACME_ADMIN, notBy: ACME_WRITER },
  { method: 'DELETE', path: '/v1/registries/main', by: ACME_ADMIN, notBy: ACME_WRITER },
  { method: 'POST', path: '/v1/entries', body: publication('io.acme/fresh'), by: ACME_WRITER, notBy: ACME_ADMIN },
  { method: 'POST', path: '/v1/entries?dry_run=false', body: publication('io.acme/fresh'), by: ACME_WRITER, notBy: ACME_ADMIN },
  { method: 'POST', path: '/v1/entries?dry_run=maybe', body: publication('io.acme/fresh'), by: ACME_WRITER, notBy: ACME_ADMIN },
  { method: 'POST', path: '/v1/entries?dry_run=true&dry_run=false', body: publication('io.acme/fresh'), by: ACME_WRITER, notBy: ACME_ADMIN },
  { method: 'PUT', path: entryAt('server', 'io.acme/nowhere', '/claims'), body: { claims }, by: ACME_WRITER, notBy: ACME_ADMIN },
  { method: 'PATCH', path: entryAt('server', 'io.acme/nowhere', '/status'), body: {}, by: ACME_WRITER, notBy: ACME_ADMIN },
  { method: 'PATCH', path: entryAt('skill', 'io.acme/nowhere', '/versions/1/status'), body: {}, by: ACME_WRITER, notBy: ACME_ADMIN },
  { method: 'DELETE', path: entryAt('server', 'io.acme/nowhere', '/versions/1.0.0'), by: ACME_WRITER, notBy: ACME_ADMIN },
]; // oxfmt-ignore

const aReadOnlyService = (mode: (typeof MODES)[number]) =>
  aService({ mode })
    .source('published', { kind: 'managed', claims })
    .source('tools', { servers: [aServer('io.acme/a')], claims })
    .source('hidden', { servers: [aServer('com.contoso/a')], claims: { org: 'contoso' } })
    .registry('main', { sources: ['tools', 'published'], claims })
    .configuration({ readOnly: true });

const full = aReadOnlyService('full').runs();

/** reference/errors: token, role, 403 `read_only`, load or 404, body. */
describe('a read-only server', () => {
  const service = full;

  it.each(CHANGES)(
    'refuses $method $path with read_only, after token and role and before anything else',
    async (change) => {
      const { method, path, body, by, notBy } = change;
      const sent = body === undefined ? {} : { body, headers: json };
      const before = await contentOf(service);
      expect(outcomeOf(await service.send(method, path, sent))).toBe('401 token_missing');
      for (const caller of [notBy, NOBODY])
        expect(outcomeOf(await service.as({ ...caller }).send(method, path, sent))).toBe('403 role_required');
      for (const caller of [by, SUPER_ADMIN])
        expect(outcomeOf(await service.as({ ...caller }).send(method, path, sent))).toBe('403 read_only');
      expect(await contentOf(service)).toEqual(before);
    },
  );

  it('allows dry runs, which write nothing', async () => {
    const before = await contentOf(service);
    const writer = service.as(ACME_WRITER);
    for (const path of ['/v1/entries/validate', '/v1/entries?dry_run=true']) {
      expect(outcomeOf(await service.as(ACME_ADMIN).post(path, publication('io.acme/b')))).toBe(
        '403 role_required',
      );
      expect((await writer.post(path, publication('io.acme/b'))).status).toBeLessThan(300);
      expect(outcomeOf(await writer.post(path, { server: {}, claims }))).toBe('400 invalid_document');
    }
    expect(await contentOf(service)).toEqual(before);
  });

  it('serves all reads', async () => {
    for (const path of ['/v1/me', '/v1/sources/tools', '/v1/registries', '/v1/sources/tools/entries'])
      expect((await service.as(ACME_ADMIN).get(path)).status).toBe(200);
    expect(versionsIn(await service.as(ACME_ADMIN).get('/registry/main/v0.1/servers'))).toEqual([
      'io.acme/a@1.0.0',
    ]);
  });

  it('keeps syncing its configured sources', async () => {
    await service.rewrite('tools', { servers: [aServer('io.acme/a'), aServer('io.acme/later')] });
    expect((await service.synced('tools')).status).toBe('complete');
    expect(versionsIn(await service.as(ACME_ADMIN).get('/registry/main/v0.1/servers'))).toEqual([
      'io.acme/a@1.0.0',
      'io.acme/later@1.0.0',
    ]);
  });
});

describe.each(MODES)('readOnly in %s mode', (mode) => {
  const service = mode === 'full' ? full : aReadOnlyService(mode).runs();
  const publish = () => service.as(ACME_WRITER).post('/v1/entries', publication('io.acme/fresh'));
  const sync = () => service.as(ACME_ADMIN).post('/v1/sources/tools/sync');

  it('refuses changes when true, from the file or the environment, and allows them when false', async () => {
    expect(outcomeOf(await publish())).toBe('403 read_only');
    expect(outcomeOf(await sync())).toBe('403 read_only');
    await service.restart(() => (service.environment['REGISTRY_READ_ONLY'] = 'false'));
    expect((await sync()).status).toBe(202);
    expect((await publish()).status).toBe(201);
    if (mode !== 'full') return;
    await service.restart(() => (service.environment['REGISTRY_READ_ONLY'] = 'true'));
    expect(outcomeOf(await publish())).toBe('403 read_only');
  });
});
