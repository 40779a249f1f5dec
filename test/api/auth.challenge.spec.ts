import { describe, expect, it } from 'vitest';
import { aServer } from '../support/documents.js';
import { call } from '../support/http.js';
import { expectChallenge, expectRefused } from '../support/matchers.js';
import { aService } from '../support/service.js';

const LIST = '/registry/main/v0.1/servers';

const service = aService({ mode: 'auth-only' })
  .source('main', { servers: [aServer('io.acme/a')] })
  .registry('main', { sources: ['main'] })
  .runs();

describe('a request without a valid token', () => {
  const { issuer } = service;

  /** Documented paths that need no token. */
  const PUBLIC =
    /^\/\.well-known\/|\/openapi\.yaml$|^\/config\.json$|^\/registry\/.*\/(validate|github-oidc|none)$/;

  it('gets 401 with a challenge on every non-public route before any other check', async () => {
    const { paths } = (await service.get('/openapi.json')).json as { paths: Record<string, object> };
    const routes = Object.entries(paths)
      .filter(([path]) => !PUBLIC.test(path))
      .flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => [method.toUpperCase(), path] as const),
      );
    expect(routes.length).toBeGreaterThan(10);
    for (const [method, path] of routes) {
      const nowhere = `${path.replaceAll(/\{\w+\}/g, 'nowhere')}?limit=wrong`;
      expectChallenge(await service.send(method, nowhere));
      const reply = await service.bearing(issuer.sign({ exp: 1 })).send(method, nowhere);
      expectChallenge(reply, { error: 'invalid_token' });
    }
  });

  it('exposes the challenge to other origins by CORS', async () => {
    const { status, headers } = await service.get(LIST, { Origin: 'https://portal.example' });
    expect(status).toBe(401);
    expect(headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-expose-headers': 'WWW-Authenticate, ETag',
      'cache-control': 'no-store',
    });
    const preflight = await service.send('OPTIONS', LIST, {
      headers: {
        Origin: 'https://portal.example',
        'Access-Control-Request-Method': 'GET',
        'Access-Control-Request-Headers': 'authorization',
      },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers['access-control-allow-headers']).toMatch(/Authorization/);
  });

  it('gets 401 and not 304 for If-None-Match', async () => {
    const { headers } = await service.as({}).get(LIST);
    expectChallenge(await service.get(LIST, { 'If-None-Match': String(headers['etag']) }));
    expectChallenge(await service.get(LIST, { 'If-None-Match': '*' }));
  });

  it.each([
    ['expired', { exp: 1 }, /expired/],
    ['for another audience', { aud: 'billing' }, /audience/],
    ['of an unknown issuer', { iss: 'https://idp.evil.example' }, /issuer/],
  ])('is logged with provider and reason: a token %s', async (_what, claims, why) => {
    const id = `refused-${String(Object.keys(claims)[0])}-claim`;
    const token = issuer.sign({ ...claims, email: 'somebody@example.com' });
    const reply = await service.bearing(token).get(LIST, { 'X-Request-Id': id });
    expectChallenge(reply, { error: 'invalid_token' });
    const lines = service.logs().filter((line) => JSON.stringify(line).includes(id));
    const refusals = lines.filter(({ level }) => level === 'warn').map((line) => JSON.stringify(line));
    expect(refusals).toEqual([expect.stringMatching(/corporate/)]);
    expect(refusals[0]).toMatch(why);
    expect(service.log.join('')).not.toContain('somebody@example.com');
  });

  it.each([
    ['malformed', '{', 400, 'malformed_json'],
    ['too large', `"${'x'.repeat(2_000_000)}"`, 413, 'body_too_large'],
  ])('gets 401 before a body that is %s is read', async (_what, body, status, code) => {
    expectChallenge(await service.put('/v1/sources/tools', body));
    expectRefused(await service.as({}).put('/v1/sources/tools', body), status, code);
  });

  it('is accepted on the internal port', async () => {
    for (const path of ['/health', '/readiness', '/version'])
      await expect.poll(async () => (await call(service.internalOrigin + path)).status).toBe(200);
  });
});

describe('WWW-Authenticate', () => {
  const WELL_KNOWN = '/.well-known/oauth-protected-resource';

  // src/auth/bearer-token.spec.ts has the full table.
  it.each([
    ['https://registry.example.com', `https://registry.example.com${WELL_KNOWN}`],
    ['https://registry.example.com:8443/mcp/', `https://registry.example.com:8443${WELL_KNOWN}/mcp/`],
  ])('for resourceUrl %s links to %s, which serves the metadata', async (resourceUrl, metadata) => {
    await service.restart((again) => again.auth({ resourceUrl, realm: 'the registry of Acme' }));
    const expected = { realm: 'the registry of Acme', metadata };
    expectChallenge(await service.get('/v1/me'), expected);
    const invalid = await service.bearing('nonsense').get('/v1/me');
    expectChallenge(invalid, { ...expected, error: 'invalid_token' });
    const document = await service.get(new URL(metadata).pathname);
    expect(document.json).toMatchObject({ resource: resourceUrl });
  });
});

describe('anonymous mode', () => {
  const service = aService()
    .source('main', { servers: [aServer('io.acme/a')] })
    .registry('main', { sources: ['main'] })
    .runs();

  it.each([
    ['no token', {}],
    ['nonsense', { Authorization: 'Bearer nonsense' }],
    ['two headers', { Authorization: ['Bearer a', 'Bearer b'] }],
  ])('ignores tokens: %s', async (_what, headers) => {
    expect((await service.get(LIST, headers)).status).toBe(200);
    expect((await service.get('/v1/sources', headers)).status).toBe(200);
  });

  it('returns 401 anonymous_mode for GET /v1/me, with and without a token', async () => {
    expectRefused(await service.get('/v1/me'), 401, 'anonymous_mode');
    const reply = await service.as({ sub: 'somebody' }).get('/v1/me');
    expectRefused(reply, 401, 'anonymous_mode');
    expect(reply.headers['www-authenticate']).toMatch(/^Bearer realm="mcp-registry"$/);
    expect(service.issuer.requests).toEqual([]);
  });
});
