import { describe, expect, it } from 'vitest';
import { expectRefused } from '../support/matchers.js';
import { aService } from '../support/service.js';

const WELL_KNOWN = '/.well-known/oauth-protected-resource';

describe('protected resource metadata', () => {
  const service = aService({ mode: 'auth-only' }).runs();

  it('lists the authorization servers and default scopes', async () => {
    const { status, json, headers } = await service.get(WELL_KNOWN);
    expect({ status, json }).toEqual({
      status: 200,
      json: {
        resource: 'https://registry.example.com',
        authorization_servers: [service.issuer.iss],
        scopes_supported: ['mcp-registry:read', 'mcp-registry:write'],
        bearer_methods_supported: ['header'],
      },
    });
    expect(headers['content-type']).toBe('application/json; charset=utf-8');
  });

  it('allows any origin by CORS', async () => {
    const { headers } = await service.get(WELL_KNOWN, { Origin: 'https://portal.example' });
    expect(headers['access-control-allow-origin']).toBe('*');
  });

  it('ignores tokens and contacts no provider', async () => {
    const plain = await service.get(WELL_KNOWN);
    for (const token of ['nonsense', service.issuer.sign(), service.issuer.sign({ exp: 1 })])
      expect((await service.bearing(token).get(WELL_KNOWN)).text).toBe(plain.text);
    expect(service.issuer.requests).toEqual([]);
  });

  it.each(['/registry', '/mcp', '/', '//', '/.', '/%2e%2e'])('returns 404 at %s below', async (below) => {
    expectRefused(await service.get(WELL_KNOWN + below), 404, 'route_not_found');
  });
});

describe('protected resource metadata for a resourceUrl with a path', () => {
  const service = aService({
    mode: 'auth-only',
    resourceUrl: 'https://example.com/mcp/registry',
    scopesSupported: ['read', 'publish:all'],
    resourceDocumentation: 'https://docs.example.com/registry',
    providers: ({ issuer }) => [
      { name: 'first', issuerUrl: 'https://idp.example.com', audience: 'registry' },
      { name: 'second', issuerUrl: `${issuer.iss}/`, audience: 'registry', allowPrivateIP: true },
    ],
  }).runs();

  it('is at the well-known path, with and without the path of the resource', async () => {
    const expected = {
      resource: 'https://example.com/mcp/registry',
      authorization_servers: ['https://idp.example.com', `${service.issuer.iss}/`],
      scopes_supported: ['read', 'publish:all'],
      bearer_methods_supported: ['header'],
      resource_documentation: 'https://docs.example.com/registry',
    };
    for (const path of [WELL_KNOWN, `${WELL_KNOWN}/mcp/registry`]) {
      const { status, json } = await service.get(path);
      expect({ path, status, json }).toEqual({ path, status: 200, json: expected });
    }
  });

  it.each(['/mcp', '/mcp/registry/more', '/registry', '/mcp%2Fregistry', '/MCP/registry'])(
    'returns 404 at %s below',
    async (below) => {
      for (const method of ['GET', 'POST'])
        expectRefused(await service.send(method, WELL_KNOWN + below), 404, 'route_not_found');
    },
  );

  it.each(['POST', 'PUT', 'PATCH', 'DELETE'])(
    'refuses %s alike at the path with and without the path of the resource',
    async (method) => {
      for (const path of [WELL_KNOWN, `${WELL_KNOWN}/mcp/registry`]) {
        const reply = await service.send(method, path);
        expectRefused(reply, 405, 'method_not_allowed');
        expect(reply.headers['allow']).toBe('GET, HEAD');
      }
      expect((await service.send('HEAD', `${WELL_KNOWN}/mcp/registry`)).status).toBe(200);
    },
  );
});

describe('protected resource metadata in anonymous mode', () => {
  const service = aService().runs();

  it.each([WELL_KNOWN, `${WELL_KNOWN}/mcp`])('returns 404 at %s', async (path) => {
    expectRefused(await service.get(path), 404, 'route_not_found');
  });
});
