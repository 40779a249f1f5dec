import { describe, expect, it } from 'vitest';
import { aServer } from '../support/documents.js';
import { expectChallenge, expectRefused } from '../support/matchers.js';
import { aService, type ServiceUnderTest } from '../support/service.js';

const aCatalogueWith = (publicPaths: string[]) =>
  aService({ mode: 'auth-only', publicPaths })
    .source('main', { servers: [aServer('io.acme/a')] })
    .registry('main', { sources: ['main'] })
    .registry('open', { sources: ['main'] })
    .registry('opener', { sources: ['main'] });

const bad = ({ issuer }: ServiceUnderTest) => issuer.sign({ exp: 1 });

describe('paths that are always public', () => {
  const service = aCatalogueWith([]).runs();

  it.each(['/openapi.json', '/docs', '/.well-known/oauth-protected-resource'])(
    'ignore the token: %s',
    async (path) => {
      const plain = await service.get(path);
      expect(plain.status).toBe(200);
      for (const authorization of ['Bearer nonsense', `Bearer ${bad(service)}`, ['Bearer a', 'Bearer b']]) {
        const reply = await service.get(path, { Authorization: authorization });
        expect({ status: reply.status, text: reply.text }).toEqual({
          status: plain.status,
          text: plain.text,
        });
      }
      expect(service.issuer.requests).toEqual([]);
    },
  );

  it('do not include registries', async () => {
    expectChallenge(await service.get('/registry/main/v0.1/servers'));
    expect((await service.as({}).get('/registry/main/v0.1/servers')).status).toBe(200);
  });

  it('return 404 for an unknown path below .well-known', async () => {
    expectRefused(await service.get('/.well-known/openid-configuration'), 404, 'route_not_found');
  });
});

describe('publicPaths', () => {
  const service = aCatalogueWith(['/registry', '/registry/open/*', '/v1/sources']).runs();

  it.each([
    '/registry',
    '/registry?limit=5',
    '/registry/open/v0.1/servers',
    '/registry/open/v0/servers',
    '/registry/open/v0.1/servers?search=..%2F..%2Fmain',
    '/registry/open/v0.1/servers/io.acme%2Fa/versions/1.0.0',
    '/registry/%6fpen/v0.1/servers',
  ])('need no token: %s', async (path) => {
    expect((await service.get(path)).status).toBe(200);
    expect((await service.send('HEAD', path)).status).toBe(200);
  });

  it.each([
    ['another registry', '/registry/main/v0.1/servers'],
    ['a registry with the same name prefix', '/registry/opener/v0.1/servers'],
    ['the path in capitals', '/registry/OPEN/v0.1/servers'],
    ['an encoded traversal out of the path', '/registry/open%2F..%2Fmain/v0.1/servers'],
    ['an encoded traversal into the path', '/registry/main%2F..%2Fopen/v0.1/servers'],
    ['a traversal by backslashes', '/registry/main%5C..%5Copen/v0.1/servers'],
    ['an encoded slash', '/registry/open%2Fx/v0.1/servers'],
    ['an encoded percent sign', '/registry/%256fpen/v0.1/servers'],
    ['an encoded NUL', '/registry/open%00/v0.1/servers'],
    ['a space', '/registry/open%20/v0.1/servers'],
    ['a path parameter', '/registry/open;x/v0.1/servers'],
    ['a path below an exact one', '/v1/sources/main'],
    ['an unlisted path', '/v1/me'],
  ])('do not cover %s: %s', async (_what, path) => {
    expectChallenge(await service.get(path));
  });

  it.each(['/registry/open/../main/v0.1/servers', '/registry/./open/v0.1/servers', '//registry'])(
    'are not matched after normalization: %s is 404',
    async (path) => {
      expect((await service.get(path)).status).toBe(404);
      expect((await service.as({}).get(path)).status).toBe(404);
    },
  );

  it('return 401 for an invalid token', async () => {
    const path = '/registry/open/v0.1/servers';
    expect((await service.as({}).get(path)).status).toBe(200);
    expectChallenge(await service.bearing(bad(service)).get(path), { error: 'invalid_token' });
    expectChallenge(await service.bearing('nonsense').get(path), { error: 'invalid_token' });
    const twice = await service.get(path, { Authorization: ['Bearer a', 'Bearer b'] });
    expectChallenge(twice, { error: 'invalid_token' });
  });

  it('grant no role: 403 role_required', async () => {
    expectRefused(await service.get('/v1/sources'), 403, 'role_required');
    expect((await service.as({}).get('/v1/sources')).status).toBe(200);
  });
});

describe('publicPaths with /*', () => {
  const service = aCatalogueWith(['/*']).runs();

  it('serves requests without a token, and refuses an invalid one', async () => {
    expect((await service.get('/registry/main/v0.1/servers')).status).toBe(200);
    expectRefused(await service.get('/v1/sources/main'), 403, 'role_required');
    const reply = await service.bearing(bad(service)).get('/registry/main/v0.1/servers');
    expectChallenge(reply, { error: 'invalid_token' });
  });
});

describe('publicPaths at the root', () => {
  const service = aCatalogueWith(['/v0.1/*', '/v0/servers']).configuration({ rootRegistry: 'open' }).runs();

  it.each(['/v0.1/servers', '/v0.1/servers/', '//v0.1/servers', '/v0/servers', '/v0/servers?limit=5'])(
    'open the root registry: %s',
    async (path) => {
      expect((await service.get(path)).status).toBe(200);
      expectChallenge(await service.bearing(bad(service)).get(path), { error: 'invalid_token' });
    },
  );

  it.each(['/v0/x/dev.toolhive/skills', '/registry/main/v0.1/servers', '/registry', '/v1/me'])(
    'do not cover %s',
    async (path) => {
      expectChallenge(await service.get(path));
    },
  );
});
