import { gzipSync } from 'node:zlib';
import { checkResourceAllowed } from '@modelcontextprotocol/sdk/shared/auth-utils.js';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { type AuditEvent, auditOf, eventsOf } from '../support/audit.js';
import { ACME_DATA, ACME_PLATFORM, ACME_WRITER, SUPER_ADMIN } from '../support/callers.js';
import { aCatalogue, aServer, aSkill } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import type { Reply, Sender } from '../support/http.js';
import { expectChallenge, expectRefused } from '../support/matchers.js';
import { callTool, mcpClient, modernClient, modernRequest, toolResult, toolCall } from '../support/mcp.js';
import { aKey } from '../support/registry-keys.js';
import { findSecrets } from '../support/secrets.js';
import { aService } from '../support/service.js';

const folder = aFolder();
const key = aKey();
folder.write('key', key);
const AUDIENCE = { audience: 'ide' };

const SPELLED = `{"com.example/x":[1.50,"\\u00e9",${JSON.stringify('"€😀\n'.repeat(40_000))}]}`;
const spelled = JSON.stringify(aServer('io.acme/spelled', '1.0.0', { _meta: {} }));

const service = aService({ mode: 'full' })
  .source('acme', {
    claims: { org: 'acme' },
    servers: [
      aServer('io.acme/weather', '1.0.0'),
      aServer('io.acme/weather', '1.1.0', {
        title: 'Weather',
        remotes: [{ type: 'streamable-http', url: 'https://weather.acme.example/mcp' }],
      }),
      aServer('io.acme/bundle'),
    ],
    skills: [aSkill('io.acme/greet')],
  })
  .source('platform', {
    claims: { org: 'acme', team: 'platform' },
    servers: [aServer('io.acme/deploy')],
    skills: [aSkill('io.acme/roll-out')],
  })
  .source('open', { claims: AUDIENCE, servers: [aServer('io.open/clock')] })
  .source('spelled', {
    claims: { org: 'acme' },
    text: JSON.stringify(aCatalogue(['SPELLED'])).replace(
      '"SPELLED"',
      spelled.replace('"_meta":{}', `"_meta":${SPELLED}`),
    ),
  })
  .registry('spelled', { sources: ['spelled'], claims: { org: 'acme' } })
  .source('published', { kind: 'managed' })
  .registry('main', { sources: ['acme', 'platform', 'published'], claims: { org: 'acme' } })
  .registry('ide', {
    sources: ['open', 'acme'],
    claims: AUDIENCE,
    anonymous: { claims: AUDIENCE },
    keys: [{ name: 'ci', secretFile: folder.file('key'), claims: { ...AUDIENCE, org: 'acme' } }],
  })
  .configuration({ cors: { origins: ['https://portal.example'] }, audit: { reads: true } })
  .runs();

const MAIN = '/registry/main/mcp';
const platform = () => service.as(ACME_PLATFORM);
const namesIn = (result: { servers: { name: string }[] }) => result.servers.map(({ name }) => name);

describe('the MCP endpoint of a registry', () => {
  it("lists its tools, and the SDK's client can call each", async () => {
    const client = await mcpClient(service.origin + MAIN, service.issuer.sign(ACME_PLATFORM));
    expect(client.getServerCapabilities()).toMatchObject({ tools: {}, resources: {} });
    expect(client.getInstructions()).toContain('"main"');
    const { tools } = await client.listTools();
    const calls = {
      search_servers: { query: 'weather' },
      get_server: { name: 'io.acme/weather' },
      search_skills: {},
      get_skill: { namespace: 'io.acme', name: 'greet' },
      how_to_connect: { name: 'io.acme/weather' },
    };
    expect(tools.map(({ name }) => name)).toEqual(Object.keys(calls));
    for (const [name, args] of Object.entries(calls)) {
      // The SDK's client validates structuredContent against the tool's schema.
      const result = await client.callTool({ name, arguments: args });
      expect(result, name).not.toHaveProperty('isError');
      expect((result['content'] as { text: string }[])[0]?.text).toBe(
        JSON.stringify(result.structuredContent),
      );
      const outputSchema = tools.find((tool) => tool.name === name)?.outputSchema ?? {};
      expect(new Ajv({ strict: false }).validate(outputSchema, result.structuredContent)).toBe(true);
    }
    await client.close();
  });

  it('shows each caller the same entries as the consumer API', async () => {
    const search = async (claims: object) =>
      namesIn(toolResult(await callTool(service.as({ ...claims }), 'main', 'search_servers')));
    expect(await search(ACME_PLATFORM)).toEqual(['io.acme/bundle', 'io.acme/deploy', 'io.acme/weather']);
    expect(await search(ACME_DATA)).toEqual(['io.acme/bundle', 'io.acme/weather']);
    const deploy = { name: 'io.acme/deploy' };
    expect(toolResult(await callTool(platform(), 'main', 'get_server', deploy))).toEqual(
      (await platform().get('/registry/main/v0.1/servers/io.acme%2Fdeploy/versions/latest')).json,
    );
    for (const tool of ['get_server', 'how_to_connect'])
      for (const name of ['io.acme/deploy', 'io.acme/nothing'])
        expect(toolResult(await callTool(service.as(ACME_DATA), 'main', tool, { name }))).toBe(
          'entry_not_found: There is no such entry',
        );
  });

  it('returns summaries in lists and full documents by name', async () => {
    const result = toolResult(await callTool(platform(), 'main', 'search_servers', { query: 'WEATHER' }));
    expect(result).toEqual({
      servers: [
        {
          name: 'io.acme/weather',
          version: '1.1.0',
          title: 'Weather',
          description: 'The server io.acme/weather',
          status: 'active',
        },
      ],
      count: 1,
    });
    const old = { name: 'io.acme/weather', version: '1.0.0' };
    expect(toolResult(await callTool(platform(), 'main', 'get_server', old))).toMatchObject({ server: old });
    const skill = { namespace: 'io.acme', name: 'roll-out' };
    expect(toolResult(await callTool(platform(), 'main', 'get_skill', skill))).toMatchObject({ skill });
    expect(toolResult(await callTool(platform(), 'main', 'search_skills'))).toMatchObject({
      skills: [{ name: 'greet' }, { name: 'roll-out' }],
      count: 2,
    });
  });

  it('continues from nextCursor', async () => {
    const names: string[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const args = cursor === '' ? { limit: 1 } : { cursor };
      const result = toolResult(await callTool(platform(), 'main', 'search_servers', args)) as {
        servers: { name: string }[];
        nextCursor?: string;
      };
      names.push(...namesIn(result));
      cursor = result.nextCursor;
    }
    expect(names).toEqual(['io.acme/bundle', 'io.acme/deploy', 'io.acme/weather']);
  });

  it('how_to_connect returns the client-config entry, and a reason when there is none', async () => {
    const config = (await platform().get('/registry/main/v0.1/x/client-config?client=cursor')).json as {
      mcpServers: Record<string, object>;
    };
    const result = toolResult(
      await callTool(platform(), 'main', 'how_to_connect', { name: 'io.acme/weather', client: 'cursor' }),
    );
    expect(result).toEqual({
      name: 'io.acme/weather',
      version: '1.1.0',
      clients: [
        {
          client: 'cursor',
          configuration: { mcpServers: { 'io.acme/weather': config.mcpServers['io.acme/weather'] } },
        },
      ],
    });
    const bundle = toolResult(
      await callTool(platform(), 'main', 'how_to_connect', { name: 'io.acme/bundle' }),
    );
    expect((bundle as { clients: { omitted: object }[] }).clients).toHaveLength(5);
    expect((bundle as { clients: object[] }).clients[0]).toMatchObject({
      client: 'vscode',
      omitted: { reason: 'no_connection' },
    });
  });

  it('omits an entry as soon as it is deleted', async () => {
    const claims = { org: 'acme', team: 'platform' };
    const writer = service.as(ACME_WRITER);
    const server = aServer('io.acme/brief');
    const search = async () => namesIn(toolResult(await callTool(platform(), 'main', 'search_servers', {})));
    expect((await writer.post('/v1/entries', { server, claims })).status).toBe(201);
    expect(await search()).toContain('io.acme/brief');
    expect((await writer.delete('/v1/entries/server/io.acme%2Fbrief/versions/1.0.0')).status).toBe(204);
    expect(await search()).not.toContain('io.acme/brief');
  });
});

describe('protocol 2026-07-28', () => {
  const send = (method: string, params?: object, version?: string, sender: Sender = platform()) => {
    const { body, headers } = modernRequest(method, params, version);
    return sender.post(MAIN, body, headers);
  };

  it.each<[string, Parameters<typeof modernClient>[2], string, string]>([
    ['default', undefined, 'legacy', '2025-11-25'],
    ['auto', { mode: 'auto' }, 'modern', '2026-07-28'],
    ['pinned', { mode: { pin: '2026-07-28' } }, 'modern', '2026-07-28'],
  ])("serves the SDK's client 2.x, %s", async (_, negotiation, era, version) => {
    const client = await modernClient(service.origin + MAIN, service.issuer.sign(ACME_PLATFORM), negotiation);
    expect(client.getProtocolEra()).toBe(era);
    expect(client.getNegotiatedProtocolVersion()).toBe(version);
    expect(client.getServerCapabilities()).toMatchObject({ tools: {}, resources: {} });
    expect(client.getInstructions()).toContain('"main"');
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      'search_servers',
      'get_server',
      'search_skills',
      'get_skill',
      'how_to_connect',
    ]);
    const result = await client.callTool({ name: 'search_servers', arguments: { query: 'weather' } });
    expect(result.structuredContent).toMatchObject({ servers: [{ name: 'io.acme/weather' }], count: 1 });
    await expect(client.callTool({ name: 'delete_server' })).rejects.toThrow('Unknown tool');
    await client.close();
  });

  it('responds like earlier protocols, without a session', async () => {
    for (const sender of [platform(), service.as(ACME_DATA)]) {
      const call = { name: 'search_servers', arguments: {} };
      const reply = await send('tools/call', call, undefined, sender);
      expect(reply).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' } });
      expect(reply.headers).not.toHaveProperty('mcp-session-id');
      expect(toolResult(reply)).toEqual(toolResult(await callTool(sender, 'main', 'search_servers')));
    }
  });

  it('discovers the versions and capabilities, private to the caller', async () => {
    const { status, json } = await send('server/discover');
    expect({ status, json }).toMatchObject({
      status: 200,
      json: {
        result: { supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, cacheScope: 'private' },
      },
    });
    expect((await send('tools/list')).json).toMatchObject({ result: { cacheScope: 'private', ttlMs: 0 } });
  });

  it('returns -32022 for an unknown version, and 404 for an unknown method', async () => {
    expect(await send('server/discover', {}, '2099-01-01')).toMatchObject({
      status: 400,
      json: { error: { code: -32022, data: { supported: ['2026-07-28'], requested: '2099-01-01' } } },
    });
    expect(await send('prompts/list')).toMatchObject({ status: 404, json: { error: { code: -32601 } } });
  });

  it('opens no subscriptions', async () => {
    const { headers, json } = await send('subscriptions/listen', {
      notifications: { toolsListChanged: true },
    });
    expect(headers['content-type']).toMatch(/^application\/json/);
    expect(json).toMatchObject({ error: {} });
  });

  it('has the same access checks and limits', async () => {
    const call = { name: 'search_servers', arguments: {} };
    expectChallenge(await send('tools/call', call, undefined, service));
    const foreign = service.as({ org: 'contoso' });
    expectRefused(await send('tools/call', call, undefined, foreign), 403, 'registry_forbidden');
    const long = { name: 'get_server', arguments: { name: 'x'.repeat(70_000) } };
    expectRefused(await send('tools/call', long), 413, 'body_too_large');
    const { body, headers } = modernRequest('tools/call', call);
    const evil = { ...headers, Origin: 'https://evil.example' };
    expectRefused(await platform().post(MAIN, body, evil), 403, 'origin_refused');
    expectRefused(await platform().post(MAIN, [body, body], headers), 400, 'invalid_body');
    const mismatch = { ...headers, 'Mcp-Name': 'get_server' };
    expect(await platform().post(MAIN, body, mismatch)).toMatchObject({
      status: 400,
      json: { error: { code: -32020 } },
    });
  });
});

describe('access to the MCP endpoint', () => {
  const list = toolCall('search_servers');

  it("returns 401 with the consumer API's challenge, whose resource covers the endpoint", async () => {
    expectChallenge(await service.post(MAIN, list));
    expectChallenge(await service.bearing('a.b.c').post(MAIN, list), { error: 'invalid_token' });
    const { resource } = (await service.get('/.well-known/oauth-protected-resource')).json as {
      resource: string;
    };
    const requestedResource = `https://registry.example.com${MAIN}`;
    expect(checkResourceAllowed({ requestedResource, configuredResource: resource })).toBe(true);
    await expect(mcpClient(service.origin + MAIN)).rejects.toThrow(/token_missing/);
  });

  it('checks the registry gate before the body', async () => {
    expectRefused(await service.as({ org: 'contoso' }).post(MAIN, '{'), 403, 'registry_forbidden');
    expectRefused(await platform().post('/registry/nowhere/mcp', '{'), 404, 'registry_not_found');
    expectRefused(await platform().post(MAIN, '{'), 400, 'malformed_json');
  });

  it('requires no token for an anonymous registry or with a registry key', async () => {
    const client = await mcpClient(`${service.origin}/registry/ide/mcp`);
    expect(await client.callTool({ name: 'search_servers' })).toMatchObject({
      structuredContent: { servers: [{ name: 'io.open/clock' }], count: 1 },
    });
    await client.close();
    const withKey = await service.post(`/registry/ide/k/${key}/mcp`, list);
    expect(namesIn(toolResult(withKey))).toEqual(['io.acme/bundle', 'io.acme/weather', 'io.open/clock']);
    expectRefused(await service.post(`/registry/ide/k/${aKey()}/mcp`, list), 404, 'registry_not_found');
    // If a token is sent, only its claims count.
    expectRefused(await platform().post('/registry/ide/mcp', list), 403, 'registry_forbidden');
  });

  it('accepts an Origin of the server or of cors.origins only', async () => {
    for (const origin of [service.origin, 'https://registry.example.com', 'https://portal.example'])
      expect((await platform().post(MAIN, list, { Origin: origin })).status, origin).toBe(200);
    for (const origin of ['https://evil.example', 'null'])
      expectRefused(await platform().post(MAIN, list, { Origin: origin }), 403, 'origin_refused');
    const preflight = await service.send('OPTIONS', MAIN, { headers: { Origin: 'https://portal.example' } });
    expect(preflight).toMatchObject({
      status: 204,
      headers: {
        'access-control-allow-origin': 'https://portal.example',
        'access-control-allow-methods': 'POST, OPTIONS',
        'access-control-allow-headers':
          'Authorization, Content-Type, Mcp-Protocol-Version, Mcp-Method, Mcp-Name',
      },
    });
  });

  it('audits responses, including tool errors, as reads without a key sent as an argument', async () => {
    const name = 'io.acme/deploy';
    const eventOf = async (reply: Reply) => {
      expect(reply.status).toBe(200);
      const events = await eventsOf(service.as(SUPER_ADMIN), reply);
      expect(events).toHaveLength(1);
      const { action, outcome, target } = events[0] as AuditEvent;
      return { action, outcome, target };
    };
    const read = { action: 'catalog.read', outcome: 'allowed' };
    const registry = { type: 'registry', name: 'main' };
    const found = await callTool(platform(), 'main', 'get_server', { name, version: '1.0.0' });
    // reference/audit: neither a missing entry nor a bad argument is a refusal.
    const others: Reply[] = [];
    for (const [tool, args] of [
      ['get_server', { name }],
      ['get_server', { name: key }],
      ['how_to_connect', { name: `io.acme/${key}`, version: key }],
      ['get_skill', { namespace: key, name: key }],
      ['search_servers', { cursor: 'x' }],
      ['get_server', { name: 3 }],
    ] as const)
      others.push(await callTool(service.as(ACME_DATA), 'main', tool, args));
    expect(await eventOf(found)).toEqual({
      ...read,
      target: { type: 'server', name, version: '1.0.0', registry: 'main' },
    });
    for (const reply of others) expect(await eventOf(reply)).toEqual({ ...read, target: registry });
    expect(findSecrets(JSON.stringify(await auditOf(service.as(SUPER_ADMIN))))).toEqual([]);
  });
});

describe('a caller whose access to a registry is withdrawn', () => {
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
  };

  it.each<[string, object, number]>([
    ['initialize', initialize, 200],
    ['tools/list', { jsonrpc: '2.0', id: 1, method: 'tools/list' }, 200],
    ['ping', { jsonrpc: '2.0', id: 1, method: 'ping' }, 200],
    ['tools/call of an unknown tool', toolCall('delete_server'), 200],
    ['notifications/initialized', { jsonrpc: '2.0', method: 'notifications/initialized' }, 202],
    ['tools/call', toolCall('search_servers'), 200],
  ])('is refused from then on, even for %s', async (_, message, status) => {
    const brief = '/v1/registries/brief';
    const put = async (org: string) => {
      const reply = await service.as(SUPER_ADMIN).put(brief, { sources: ['acme'], claims: { org } });
      expect(reply.status).toBeOneOf([200, 201]);
    };
    await put('acme');
    expect((await callTool(platform(), 'brief', 'search_servers')).status).toBe(200);
    expect((await platform().post('/registry/brief/mcp', message)).status).toBe(status);
    await put('contoso');
    expectRefused(await platform().post('/registry/brief/mcp', message), 403, 'registry_forbidden');
    expect((await service.as(SUPER_ADMIN).delete(brief)).status).toBe(204);
    expectRefused(await platform().post('/registry/brief/mcp', message), 404, 'registry_not_found');
  });
});

describe('a JSON-RPC message', () => {
  const post = (body: unknown, headers = {}) => platform().post(MAIN, body, headers);

  it('without a response is accepted with 202', async () => {
    const reply = await post({ jsonrpc: '2.0', method: 'notifications/initialized' });
    expect({ status: reply.status, text: reply.text }).toEqual({ status: 202, text: '' });
  });

  it.each<[object, string]>([
    [{}, 'not JSON-RPC'],
    [[toolCall('search_servers'), toolCall('search_servers')], 'a batch'],
    [{ jsonrpc: '2.0', id: 1 }, 'without method'],
  ])('%j (%s) is refused', async (body) => expectRefused(await post(body), 400, 'invalid_body'));

  it('with an unsupported protocol version is refused', async () => {
    const list = toolCall('search_servers');
    expectRefused(await post(list, { 'Mcp-Protocol-Version': '1999-01-01' }), 400, 'invalid_body');
    expect(
      (await post(list, { 'Mcp-Protocol-Version': '2025-06-18', Accept: 'application/json' })).status,
    ).toBe(200);
  });

  it('that is too large or not JSON is refused', async () => {
    expectRefused(await post(toolCall('get_server', { name: 'x'.repeat(1_300_000) })), 413, 'body_too_large');
    const clientInfo = (length: number) => ({ name: 'x', version: '1', title: 'x'.repeat(length) });
    const initialize = (length: number) => ({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: clientInfo(length) },
    });
    expectRefused(await post(initialize(70_000)), 413, 'body_too_large');
    expect((await post(initialize(60_000))).status).toBe(200);
    const packed = gzipSync(JSON.stringify(initialize(70_000)));
    expectRefused(
      await post(packed, { 'Content-Encoding': 'gzip', 'Content-Type': 'application/json' }),
      413,
      'body_too_large',
    );
    const text = { 'Content-Type': 'text/plain' };
    expectRefused(await post('x', text), 415, 'unsupported_media_type');
  });

  it.each<[string, object, string]>([
    ['get_server', {}, "arguments must have required property 'name'"],
    ['search_servers', { limit: 0 }, 'arguments.limit must be >= 1'],
    ['search_servers', { limit: '5' }, 'arguments.limit must be integer'],
    ['search_servers', { colour: 'red' }, 'arguments must NOT have additional properties'],
    [
      'how_to_connect',
      { name: 'io.acme/weather', client: 'emacs' },
      'arguments.client must be equal to one of',
    ],
  ])('calling %s with %j gets invalid_parameter', async (tool, args, sentence) => {
    expect(toolResult(await callTool(platform(), 'main', tool, args))).toContain(
      `invalid_parameter: ${sentence}`,
    );
  });

  it('with a mangled cursor gets invalid_cursor', async () => {
    expect(toolResult(await callTool(platform(), 'main', 'search_servers', { cursor: 'x' }))).toMatch(
      /^invalid_cursor: /,
    );
  });

  it('gets a response with its own ID and result, in both protocols, even when repeated', async () => {
    const calls: [id: unknown, query: string][] = [
      [1, 'weather'],
      ['a"b', 'nothing'],
      [0, ''],
      [-7, 'weather'],
    ];
    const { headers, body } = modernRequest('tools/call', { name: 'search_servers', arguments: {} });
    for (const [id, query] of [...calls, ...calls])
      for (const sender of [platform(), service.as(ACME_DATA)]) {
        const args = { ...(query === '' ? {} : { query }), limit: 100 };
        const earlier = await sender.post(MAIN, { ...toolCall('search_servers', args), id });
        const params = { ...body.params, arguments: args };
        const modern = await sender.post(MAIN, { ...body, id, params }, headers);
        const list = await sender.get(`/registry/main/v0.1/servers?version=latest&limit=100&search=${query}`);
        const names = (list.json as { servers: { server: { name: string } }[] }).servers.map(
          ({ server: { name } }) => name,
        );
        for (const { json } of [earlier, modern]) {
          expect(json).toMatchObject({ jsonrpc: '2.0', id });
          const { servers } = toolResult({ json }) as { servers: { name: string }[] };
          expect(servers.map(({ name }) => name)).toEqual(names);
        }
      }
  });

  it.each([{ id: null }, { id: 1.5 }, { id: {} }, { params: { name: 'search_servers', arguments: [] } }])(
    'that calls a tool with %j has no result',
    async (members) => {
      expect((await post(toolCall('search_servers'))).status).toBe(200);
      const { body, headers } = modernRequest('tools/call', { name: 'search_servers', ...members.params });
      const modern = { ...body, ...members, params: { ...body.params, ...members.params } };
      for (const reply of [
        await post({ ...toolCall('search_servers'), ...members }),
        await post(modern, headers),
      ]) {
        expect(reply.status).not.toBe(500);
        expect(reply.text).not.toContain('"result"');
      }
    },
  );

  it('for an unknown tool or method is a JSON-RPC error', async () => {
    expect((await post(toolCall('delete_server'))).json).toMatchObject({ error: { code: -32602 } });
    expect((await post({ jsonrpc: '2.0', id: 1, method: 'prompts/list' })).json).toMatchObject({
      error: { code: -32601 },
    });
  });

  it('is accepted by POST only', async () => {
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
      const reply = await platform().send(method, MAIN);
      expectRefused(reply, 405, 'method_not_allowed');
      expect(reply.headers.allow).toBe('POST');
    }
  });
});

it('get_server returns the bytes of the consumer API, neither parsed nor serialized', async () => {
  const name = 'io.acme/spelled';
  const document = await platform().get('/registry/spelled/v0.1/servers/io.acme%2Fspelled/versions/latest');
  const reply = await callTool(platform(), 'spelled', 'get_server', { name });
  // Vitest would take seconds to compare long texts.
  expect(document.text.includes(SPELLED)).toBe(true);
  expect(reply.text.includes(`"structuredContent":${document.text}`)).toBe(true);
  expect(reply.text.includes(`"text":${JSON.stringify(document.text)}`)).toBe(true);
});
