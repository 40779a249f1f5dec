import { describe, expect, it } from 'vitest';
import { expectRefused } from '../support/matchers.js';
import { aService } from '../support/service.js';

const WELL_KNOWN = '/.well-known/oauth-protected-resource';

describe('the metadata of the protected resource', () => {
  const service = aService({ mode: 'auth-only' }).runs();

  it('say where tokens come from, with the defaults of the specification', async () => {
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

  it('may be read by pages of any origin', async () => {
    const { headers } = await service.get(WELL_KNOWN, { Origin: 'https://portal.example' });
    expect(headers['access-control-allow-origin']).toBe('*');
  });

  it('are the same for everybody, and need no provider', async () => {
    const plain = await service.get(WELL_KNOWN);
    for (const token of ['nonsense', service.issuer.sign(), service.issuer.sign({ exp: 1 })])
      expect((await service.bearing(token).get(WELL_KNOWN)).text).toBe(plain.text);
    expect(service.issuer.requests).toEqual([]);
  });

  it.each(['/registry', '/mcp', '/', '//', '/.', '/%2e%2e'])('are not at %s below', async (below) => {
    expectRefused(await service.get(WELL_KNOWN + below), 404, 'route_not_found');
  });
});

describe('the metadata of a resource with a path', () => {
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

  it('are at the well-known path, and below it at the path of the resource', async () => {
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
    'are not at %s below',
    async (below) => {
      expectRefused(await service.get(WELL_KNOWN + below), 404, 'route_not_found');
    },
  );
});

describe('in anonymous mode', () => {
  const service = aService().runs();

  it.each([WELL_KNOWN, `${WELL_KNOWN}/mcp`])('there is nothing at %s', async (path) => {
    expectRefused(await service.get(path), 404, 'route_not_found');
  });
});
