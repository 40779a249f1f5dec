import { describe, expect, it } from 'vitest';
import { SUPER_ADMIN } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import type { Headers } from '../support/http.js';
import { expectRefused, versionsIn } from '../support/matchers.js';
import { sendRaw } from '../support/raw.js';
import { aService } from '../support/service.js';

const LIST = '/registry/main/v0.1/servers';
const PORTAL = 'https://portal.example';
const BODY = { sources: ['main'] };

const aDesk = () =>
  aService()
    .source('main', { servers: [aServer('io.acme/a')] })
    .registry('main', { sources: ['main'] });

const desk = aDesk().runs();

/** reference/access: DNS rebinding makes a foreign page same-origin, so the `Host` must be loopback. */
describe('anonymous mode on a loopback address', () => {
  const service = desk;
  const portOf = (host: string) => host.replace('PORT', String(service.port));

  it.each([
    'localhost',
    'localhost:PORT',
    'LOCALHOST:1',
    'localhost:',
    'registry.localhost:PORT',
    '127.0.0.1',
    '127.0.0.1:PORT',
    '127.200.0.9:80',
    '[::1]',
    '[::1]:PORT',
  ])('accepts Host: %s', async (host) => {
    const headers = { Host: portOf(host) };
    expect(versionsIn(await service.get(LIST, headers))).toEqual(['io.acme/a@1.0.0']);
    expect((await service.put('/v1/registries/made', BODY, headers)).status).toBeLessThan(300);
  });

  it.each([
    'evil.example',
    'evil.example:PORT',
    'localhost.evil.example:PORT',
    '127.0.0.1.evil.example:PORT',
    'notlocalhost:PORT',
    '0.0.0.0:PORT',
    '10.0.0.1:PORT',
    '128.0.0.1',
    '[::]:PORT',
    '[::2]',
    'localhost@evil.example',
    'evil.example#localhost',
    'evil.example, localhost',
    'localhost:80:80',
  ])('returns 400 host_refused for Host: %s', async (host) => {
    const headers = { Host: portOf(host) };
    const before = (await service.get('/v1/registries')).text;
    expectRefused(await service.get(LIST, headers), 400, 'host_refused');
    const own = { ...headers, Origin: `http://${portOf(host)}` };
    expectRefused(await service.put('/v1/registries/stolen', BODY, own), 400, 'host_refused');
    expect((await service.get('/v1/registries')).text).toBe(before);
  });

  it('returns 400 host_refused on every route', async () => {
    const headers = { Host: 'evil.example' };
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
      for (const path of [LIST, '/registry', '/v1/registries/main', '/openapi.json', '/docs', '/nowhere'])
        expectRefused(await service.send(method, path, { headers }), 400, 'host_refused');
  });

  it('prefers the host of an absolute request target (RFC 9112 §3.2.2)', async () => {
    const ask = (target: string, host: string) =>
      sendRaw(service.port, `GET ${target} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    expect(await ask('http://evil.example/registry', 'localhost')).toContain('host_refused');
    expect(await ask('http://localhost/registry', 'evil.example')).toContain('200 OK');
  });

  it('returns 400 host_refused without a Host', async () => {
    expect(await sendRaw(service.port, 'GET /registry HTTP/1.1\r\nHost:\r\n\r\n')).toContain('host_refused');
    expect(await sendRaw(service.port, 'GET /registry HTTP/1.0\r\n\r\n')).toContain('host_refused');
    expect(await sendRaw(service.port, 'GET /registry HTTP/1.0\r\nHost: localhost\r\n\r\n')).toContain(
      '200 OK',
    );
  });

  it('logs no warning about open access at start', () => {
    expect(service.logs().filter(({ msg }) => msg.includes('anyone who reaches it'))).toEqual([]);
  });
});

describe('anonymous mode on every interface', () => {
  const service = aDesk().listensOn(':0').runs();

  it('accepts any Host', async () => {
    for (const host of ['registry.example.com', '10.0.0.1:8080', 'localhost'])
      expect(versionsIn(await service.get(LIST, { Host: host }))).toEqual(['io.acme/a@1.0.0']);
  });

  it('returns 403 origin_refused for a change from another origin', async () => {
    const headers = { Host: 'registry.example.com', Origin: 'http://evil.example' };
    expectRefused(await service.put('/v1/registries/made', BODY, headers), 403, 'origin_refused');
  });

  it('warns at start that everyone may change everything', () => {
    expect(service.logs().filter(({ msg }) => msg.includes('anyone who reaches it'))).toHaveLength(1);
  });
});

describe('oauth mode', () => {
  const service = aService({ mode: 'full' })
    .source('main', { servers: [aServer('io.acme/a')] })
    .registry('main', { sources: ['main'] })
    .runs();

  it('accepts any Host and Origin: a browser never attaches a token on its own', async () => {
    const headers = { Host: 'registry.example.com', Origin: 'https://elsewhere.example' };
    expect((await service.as(SUPER_ADMIN).get(LIST, headers)).status).toBe(200);
    expect((await service.as(SUPER_ADMIN).put('/v1/registries/made', BODY, headers)).status).toBe(201);
  });
});

/** reference/access: changes need an origin listed in `cors.origins`; `*` covers reads only. */
describe.each([
  { origins: ['*'], named: false },
  { origins: ['*', PORTAL], named: true },
  { origins: [PORTAL], named: true },
  { origins: [], named: false },
])('a change in anonymous mode with cors.origins $origins', ({ origins, named }) => {
  // `*` is the default.
  const isDefault = origins.length === 1 && !named;
  const service = isDefault ? desk : aDesk().configuration({ cors: { origins } }).runs();
  const put = (headers: Headers) => service.put('/v1/registries/made', BODY, headers);
  const own = () => service.origin;

  it('is allowed without an Origin', async () => {
    expect((await put({})).status).toBeLessThan(300);
  });

  it("is allowed for the server's own origin, under each loopback name", async () => {
    expect((await put({ Origin: own() })).status).toBeLessThan(300);
    const local = `localhost:${service.port}`;
    expect((await put({ Host: local, Origin: `http://${local}` })).status).toBeLessThan(300);
    expect((await put({ Host: 'localhost:80', Origin: 'http://localhost' })).status).toBeLessThan(300);
  });

  it(`is ${named ? 'allowed' : 'refused'} for the origin ${PORTAL}`, async () => {
    const reply = await put({ Origin: PORTAL });
    if (named) expect(reply.status).toBeLessThan(300);
    else expectRefused(reply, 403, 'origin_refused');
  });

  const foreign: readonly [what: string, origin: () => string][] = [
    ['another scheme', () => own().replace('http:', 'https:')],
    ['another port', () => 'http://127.0.0.1:1'],
    ['no port', () => 'http://127.0.0.1'],
    ['another name of this machine', () => own().replace('127.0.0.1', 'localhost')],
    ['another host', () => 'https://evil.example'],
    ['a host with the same prefix', () => `${own()}.evil.example`],
    ['a trailing slash', () => `${own()}/`],
    ['an opaque origin', () => 'null'],
    ['an empty origin', () => ''],
    ['an asterisk', () => '*'],
    ['two origins', () => `${own()}, https://evil.example`],
  ];
  it.each(origins.length === 1 ? foreign.slice(0, 1) : foreign)('is refused for %s', async (_, origin) => {
    const before = (await service.get('/v1/registries')).text;
    expectRefused(await put({ Origin: origin() }), 403, 'origin_refused');
    expect((await service.get('/v1/registries')).text).toBe(before);
  });

  it('is refused for every method and path', async () => {
    const headers = { Origin: 'https://evil.example' };
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      for (const path of ['/v1/registries/main', '/v1/entries', '/v1/sources/main/sync', `${LIST}/x`]) {
        const sent = method === 'DELETE' ? { headers } : { headers, body: BODY };
        expectRefused(await service.send(method, path, sent), 403, 'origin_refused');
      }
  });

  it('does not restrict reads by Origin', async () => {
    for (const Origin of ['https://evil.example', 'null', PORTAL]) {
      expect((await service.get('/v1/registries', { Origin })).status).toBe(200);
      expect((await service.send('OPTIONS', LIST, { headers: { Origin } })).status).toBe(204);
    }
  });
});
