import { describe, expect, it } from 'vitest';
import { aServer } from '../support/documents.js';
import { call } from '../support/http.js';
import { aService } from '../support/service.js';

const LIST = '/registry/main/v0.1/servers';
const source = { servers: [aServer('io.acme/a')] };

describe('consumer API response headers', () => {
  const service = aService()
    .source('main', source)
    .registry('main', { sources: ['main'] })
    .runs();

  it('are private, vary by Authorization and Origin, and have an ETag that yields 304', async () => {
    const first = await service.get(LIST);
    expect(first.headers).toMatchObject({
      'cache-control': 'private, no-cache',
      vary: 'Authorization, Origin, Accept-Encoding',
      'content-type': 'application/json; charset=utf-8',
      etag: expect.stringMatching(/^"[\w-]+"$/),
    });
    const tag = String(first.headers['etag']);
    for (const known of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
      const again = await service.get(LIST, { 'If-None-Match': known });
      expect({ status: again.status, text: again.text, etag: again.headers['etag'] }).toEqual({
        status: 304,
        text: '',
        etag: tag,
      });
    }
    expect((await service.get(LIST, { 'If-None-Match': '"other"' })).status).toBe(200);
  });

  it('have a new ETag when the content changes', async () => {
    const before = (await service.get(LIST)).headers['etag'];
    await service.rewrite('main', { servers: [aServer('io.acme/a', '1.0.1')] });
    await service.synced('main');
    expect((await service.get(LIST, { 'If-None-Match': String(before) })).status).toBe(200);
  });

  it('allow any CORS origin, even in error responses', async () => {
    for (const path of [
      LIST,
      '/registry',
      '/registry/nobody/v0.1/servers',
      `${LIST}?limit=0`,
      '/openapi.json',
      '/openapi.yaml',
      '/registry/none',
    ]) {
      const reply = await service.get(path, { Origin: 'https://portal.example' });
      expect({ path, allowed: reply.headers['access-control-allow-origin'] }).toEqual({ path, allowed: '*' });
      expect(reply.headers['access-control-expose-headers']).toBe('WWW-Authenticate, ETag');
    }
    expect(
      (await service.get('/v1/sources', { Origin: 'https://portal.example' })).headers,
    ).not.toHaveProperty('access-control-allow-origin');
  });

  it('return 204 for a CORS preflight', async () => {
    const reply = await call(service.origin + LIST, {
      method: 'OPTIONS',
      headers: { Origin: 'https://portal.example', 'Access-Control-Request-Method': 'GET' },
    });
    expect(reply.status).toBe(204);
    expect(reply.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, OPTIONS',
      'access-control-allow-headers': 'Authorization, Content-Type',
    });
    expect((await call(`${service.origin}/v1/sources`, { method: 'OPTIONS' })).status).toBe(405);
  });

  it('echo an X-Request-Id from a proxy if it is well-formed', async () => {
    expect((await service.get(LIST, { 'X-Request-Id': 'abc-123-def' })).headers['x-request-id']).toBe(
      'abc-123-def',
    );
    expect((await service.get(LIST, { 'X-Request-Id': 'a b' })).headers['x-request-id']).toMatch(
      /^[0-9a-f-]{36}$/,
    );
  });

  it('are logged with the request in one line, without query string or headers', async () => {
    const id = 'find-this-request';
    await service.get(`${LIST}?search=hush-query`, {
      'X-Request-Id': id,
      Authorization: 'Bearer hush-token',
    });
    await expect
      .poll(() => service.logs().filter((line) => JSON.stringify(line).includes(id)))
      .toEqual([
        expect.objectContaining({
          level: 'info',
          requestId: id,
          method: 'GET',
          path: LIST,
          route: '/registry/:registry/v0.1/servers',
          status: 200,
        }),
      ]);
    expect(service.log.join('')).not.toContain('hush');
  });
});

describe('CORS with configured origins', () => {
  const service = aService()
    .source('main', source)
    .registry('main', { sources: ['main'] })
    .configuration({ cors: { origins: ['https://portal.example'] } })
    .runs();

  it.each([
    ['https://portal.example', 'https://portal.example'],
    ['https://evil.example', undefined],
  ])('responds to %s with %s', async (origin, allowed) => {
    const reply = await service.get(LIST, { Origin: origin });
    expect(reply.status).toBe(200);
    expect(reply.headers['access-control-allow-origin']).toBe(allowed);
    expect(reply.headers['vary']).toMatch(/Origin/);
  });
});
