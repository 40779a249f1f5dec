import { describe, expect, it } from 'vitest';
import { SUPER_ADMIN } from '../support/callers.js';
import { aServer, aSkill } from '../support/documents.js';
import { expectChallenge, expectRefused } from '../support/matchers.js';
import { aService } from '../support/service.js';

const BASE = '/registry/main/v0.1';
const SERVER = `${BASE}/servers/io.acme%2Fa`;

describe('client and proxy compatibility', () => {
  const service = aService()
    .source('main', { servers: [aServer('io.acme/a')], skills: [aSkill('io.acme/deploy')] })
    .registry('main', { sources: ['main'] })
    .runs();

  it.each([
    '/registry',
    `${BASE}/servers`,
    `${BASE}/servers?limit=5`,
    `${SERVER}/versions`,
    `${SERVER}/versions/latest`,
    `${BASE}/x/dev.toolhive/skills`,
    `${BASE}/x/dev.toolhive/skills/io.acme/deploy`,
    `${BASE}/openapi.yaml`,
  ])('a trailing slash on %s is accepted, a double slash is not', async (path) => {
    const [, before = '', query = ''] = /^([^?]*)(.*)$/.exec(path) ?? [];
    const plain = await service.get(path);
    expect(plain.status).toBe(200);
    const slashed = await service.get(`${before}/${query}`);
    expect({ status: slashed.status, text: slashed.text }).toEqual({ status: 200, text: plain.text });
    expect((await service.get(`${before}//${query}`)).status).not.toBe(200);
  });

  it.each([
    '/registry/main//v0.1/servers',
    '/registry/main//v0/servers?limit=5',
    '/registry/main//x/search?q=deploy',
    '/registry/main//v0.1/x/dev.toolhive/skills',
    '/registry/main/v0.1//x/dev.toolhive/skills',
  ])('a base URL may end in a slash: %s', async (path) => {
    const plain = await service.get(path.replace('//', '/'));
    const doubled = await service.get(path);
    expect({ status: doubled.status, text: doubled.text }).toEqual({ status: 200, text: plain.text });
    expect((await service.get(path.replace('//', '///'))).status).toBe(404);
  });

  it('a raw + in updated_since is explained', async () => {
    const since = '2025-01-01T00:00:00+01:00';
    const reply = await service.get(`${BASE}/servers?updated_since=${since}`);
    expectRefused(reply, 400, 'invalid_parameter');
    expect(reply.text).toContain('write + as %2B');
    const encoded = encodeURIComponent(since);
    expect((await service.get(`${BASE}/servers?updated_since=${encoded}`)).status).toBe(200);
  });

  it.each(['/v1/sources', '/v1/me', '/openapi.json', '/.well-known/oauth-protected-resource'])(
    'a trailing slash on %s is 404: only the consumer API accepts one',
    async (path) => expectRefused(await service.get(`${path}/`), 404, 'route_not_found'),
  );

  it.each([
    `${BASE}/servers`,
    `${SERVER}/versions/latest`,
    `${BASE}/x/dev.toolhive/skills`,
    '/v1/sources',
    '/v1/sources/main',
    '/registry',
    `${BASE}/openapi.yaml`,
    '/openapi.json',
  ])('%s: If-None-Match yields 304 despite Cache-Control: no-cache', async (path) => {
    const first = await service.get(path);
    const tag = String(first.headers['etag']);
    const headers = { 'Cache-Control': 'no-cache', Pragma: 'no-cache' };
    for (const condition of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
      const again = await service.get(path, { ...headers, 'If-None-Match': condition });
      expect({ status: again.status, text: again.text, etag: again.headers['etag'] }).toEqual({
        status: 304,
        text: '',
        etag: tag,
      });
    }
    const other = await service.get(path, { ...headers, 'If-None-Match': '"other"' });
    expect({ status: other.status, text: other.text }).toEqual({ status: 200, text: first.text });
  });

  it('the consumer OpenAPI document is also served at the registry base', async () => {
    const versioned = await service.get(`${BASE}/openapi.yaml`);
    const atBase = await service.get('/registry/main/openapi.yaml');
    expect({ status: atBase.status, text: atBase.text }).toEqual({ status: 200, text: versioned.text });
    expect(atBase.text).toContain('version: 1.0.0');
    expect(atBase.text).toContain('https://github.com/modelcontextprotocol/registry');
  });

  it.each([
    ['GET', `${BASE}/servers/io.acme/a/versions`],
    ['GET', `${BASE}/servers/io.acme/a/versions/latest`],
    ['GET', '/registry/main/v0/servers/io.acme/a/versions/1.0.0'],
    ['GET', '/v1/entries/server/io.acme/a/versions/1.0.0'],
    ['PUT', '/v1/entries/server/io.acme/a/claims'],
    ['PATCH', '/v1/entries/skill/io.acme/a/versions/1.0.0/status'],
  ])('%s %s: the 404 explains that a proxy decoded %%2F', async (method, path) => {
    const reply = await service.send(method, path);
    expectRefused(reply, 404, 'route_not_found');
    expect(reply.json).toMatchObject({ details: [expect.stringContaining('%2F')] });
  });

  it('a 404 for any other unknown path has no such hint', async () => {
    for (const path of ['/nowhere', `${BASE}/servers/io.acme%2Fa`, '/v1/entries/server', `${BASE}/nowhere`]) {
      const reply = await service.get(path);
      expectRefused(reply, 404, 'route_not_found');
      expect(reply.json).not.toHaveProperty('details');
    }
  });

  it.each([
    ['POST', `${BASE}/publish`],
    ['POST', `${BASE}/validate`],
    ['POST', '/registry/main/v0/publish'],
    ['PUT', `${SERVER}/versions/1.0.0`],
    ['PATCH', `${SERVER}/versions/1.0.0/status`],
    ['DELETE', `${SERVER}/versions/1.0.0`],
    ['POST', '/registry/main/anything'],
    ['DELETE', '/registry/main'],
  ])(
    '%s %s from an MCP Registry publisher gets 501 use_admin_api, logged once at info',
    async (method, path) => {
      const reply = await service.send(
        method,
        path,
        method === 'DELETE' ? {} : { body: aServer('io.acme/b') },
      );
      expectRefused(reply, 501, 'use_admin_api');
      const { requestId } = reply.json as { requestId: string };
      await expect
        .poll(() => service.logs().filter((line) => JSON.stringify(line).includes(requestId)))
        .toEqual([expect.objectContaining({ level: 'info', status: 501 })]);
    },
  );
});

describe('a method that a path does not support', () => {
  const service = aService({ mode: 'full' })
    .source('main', { servers: [aServer('io.acme/a')], claims: { org: 'acme' } })
    .registry('main', { sources: ['main'], claims: { org: 'acme' } })
    .runs();

  it.each([
    ['POST', '/v1/me', 'GET, HEAD'],
    ['PATCH', '/v1/sources/main', 'DELETE, GET, HEAD, PUT'],
    ['PATCH', '/v1/sources/hidden', 'DELETE, GET, HEAD, PUT'],
    ['GET', '/v1/sources/main/sync', 'POST'],
    ['DELETE', '/v1/entries', 'GET, HEAD, POST'],
    ['PUT', '/openapi.json', 'GET, HEAD'],
    ['POST', '/.well-known/oauth-protected-resource', 'GET, HEAD'],
  ])('%s %s is 405 with Allow: %s, with or without a token', async (method, path, allow) => {
    for (const caller of [service, service.as(SUPER_ADMIN)]) {
      const reply = await caller.send(method, path);
      expectRefused(reply, 405, 'method_not_allowed');
      expect(reply.headers['allow']).toBe(allow);
      expect((reply.json as { error: string }).error).toContain(allow);
    }
  });

  it('does not affect supported methods, which still require a token', async () => {
    expectChallenge(await service.get('/v1/me'));
    expect((await service.as(SUPER_ADMIN).get('/v1/me')).status).toBe(200);
    expect((await service.as(SUPER_ADMIN).send('HEAD', '/v1/me')).status).toBe(200);
  });

  it('is 404 on an unknown path', async () => {
    for (const method of ['GET', 'POST', 'DELETE'])
      expectRefused(await service.send(method, '/v1/nowhere'), 404, 'route_not_found');
    // Unknown writes below a registry are 501, unknown reads 404.
    expectRefused(await service.as(SUPER_ADMIN).get('/registry/main/v0.1/nowhere'), 404, 'route_not_found');
  });
});
