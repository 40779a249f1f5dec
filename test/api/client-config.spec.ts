import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { Cli } from '../support/cli.js';
import { aServer, type Document } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { call, type Reply, type Sender } from '../support/http.js';
import { addCopies } from '../support/managed-entries.js';
import { expectChallenge, expectRefused } from '../support/matchers.js';
import { aKey } from '../support/registry-keys.js';
import { aService } from '../support/service.js';

const ACME = { sub: 'ada', org: 'acme' };
const PLATFORM = { sub: 'pia', org: 'acme', team: 'platform' };
const WRITER = { sub: 'wim', org: 'acme', role: 'writer' };
const CLIENTS = ['vscode', 'copilot', 'claude-code', 'cursor'];
const FORMS = ['servers', 'allowlist'];

const remote = (url: string) => ({ remotes: [{ type: 'streamable-http', url }] });
const npm = (identifier: string, more: Document = {}) => ({
  packages: [{ registryType: 'npm', identifier, version: '1.2.3', transport: { type: 'stdio' }, ...more }],
});

const folder = aFolder();
const key = aKey();
folder.write('key', key);

const service = aService({ mode: 'full' })
  .source('open', {
    claims: { org: 'acme' },
    servers: [
      aServer('io.acme/weather', '1.0.0', remote('https://old.acme.example/mcp')),
      aServer('io.acme/weather', '2.0.0', remote('https://weather.acme.example/mcp')),
      aServer('io.acme/build', '1.0.0', npm('@acme/build')),
      aServer('io.acme/bundle', '1.0.0'),
    ],
  })
  .source('platform', {
    claims: { org: 'acme', team: 'platform' },
    servers: [aServer('io.acme/deploy', '1.0.0', remote('https://deploy.acme.example/mcp'))],
  })
  .source('published', { kind: 'managed' })
  .source('many', { claims: { org: 'acme' }, servers: [aServer('io.many/one', '1.0.0', npm('one'))] })
  .registry('main', { sources: ['open', 'platform', 'published'], claims: { org: 'acme' } })
  .registry('many', { sources: ['many'], claims: { org: 'acme' } })
  .registry('ide', {
    sources: ['open', 'platform'],
    claims: { org: 'acme' },
    anonymous: { claims: { org: 'acme' } },
    keys: [{ name: 'ci', secretFile: folder.file('key'), claims: { org: 'acme', team: 'platform' } }],
  })
  .configuration({ rootRegistry: 'ide' })
  .runs();

const pathOf = (query: string, registry = 'main') => `/registry/${registry}/v0.1/x/client-config?${query}`;
const of = (sender: Sender, query = 'client=cursor', registry = 'main') =>
  sender.get(pathOf(query, registry));

interface Config {
  mcpServers: Record<string, unknown>;
  'x-omitted'?: { name: string }[];
}

function serversOf(reply: Reply): string[] {
  expect(reply.status).toBe(200);
  return Object.keys((reply.json as Config).mcpServers);
}

describe('GET /x/client-config', () => {
  it('contains the latest version of each visible server, sorted by name', async () => {
    expect((await of(service.as(ACME))).json).toEqual({
      mcpServers: {
        'io.acme/build': { type: 'stdio', command: 'npx', args: ['-y', '@acme/build@1.2.3'] },
        'io.acme/weather': { url: 'https://weather.acme.example/mcp' },
      },
      'x-omitted': [{ name: 'io.acme/bundle', version: '1.0.0', reason: 'no_connection' }],
    });
  });

  it('depends on the claims of the caller', async () => {
    expect(serversOf(await of(service.as(PLATFORM)))).toEqual([
      'io.acme/build',
      'io.acme/deploy',
      'io.acme/weather',
    ]);
    expect((await of(service.as(ACME))).text).not.toContain('deploy');
  });

  it('is byte-stable for equal views, with an ETag per client and form', async () => {
    const tags = new Set<unknown>();
    for (const client of CLIENTS)
      for (const form of FORMS) {
        const query = `client=${client}&form=${form}`;
        const [one, other] = [
          await of(service.as(ACME), query),
          await of(service.as({ org: 'acme' }), query),
        ];
        expect(one.text).toBe(other.text);
        expect(one.headers).toMatchObject({
          etag: other.headers.etag,
          'cache-control': 'private, no-cache',
          'x-omitted-count': '1',
        });
        tags.add(one.headers.etag);
        const again = await service
          .as(ACME)
          .get(pathOf(query), { 'If-None-Match': String(one.headers.etag) });
        expect({ status: again.status, text: again.text }).toEqual({ status: 304, text: '' });
      }
    // VS Code uses Copilot's allow-list.
    expect(tags.size).toBe(CLIENTS.length * FORMS.length - 1);
  });

  it('defaults to form=servers', async () => {
    const servers = await of(service.as(ACME), 'client=cursor&form=servers');
    for (const query of ['client=cursor', 'client=cursor&form=', 'form=servers&colour=red&client=cursor'])
      expect((await of(service.as(ACME), query)).text).toBe(servers.text);
    expect((await of(service.as(ACME), 'client=claude-code&form=allowlist')).json).toMatchObject({
      allowManagedMcpServersOnly: true,
      allowedMcpServers: [
        { serverCommand: ['npx', '-y', '@acme/build@1.2.3'] },
        { serverUrl: 'https://weather.acme.example/mcp' },
      ],
    });
  });

  it('reflects publishing and deleting at once', async () => {
    const claims = { org: 'acme' };
    const server = aServer('io.acme/new', '1.0.0', remote('https://new.acme.example/mcp'));
    expect(serversOf(await of(service.as(WRITER)))).not.toContain('io.acme/new');
    expect((await service.as(WRITER).post('/v1/entries', { server, claims })).status).toBe(201);
    expect(serversOf(await of(service.as(WRITER)))).toContain('io.acme/new');
    const version = '/v1/entries/server/io.acme%2Fnew/versions/1.0.0';
    expect((await service.as(WRITER).delete(version)).status).toBe(204);
    expect(serversOf(await of(service.as(WRITER)))).not.toContain('io.acme/new');
  });

  it('omits and counts a server that is too long', async () => {
    const claims = { org: 'acme' };
    const server = aServer('io.acme/vast', '1.0.0', {
      remotes: [
        {
          type: 'streamable-http',
          url: `https://vast.acme.example/${'{id}'.repeat(50_000)}`,
          variables: { id: { value: 'x'.repeat(500_000) } },
        },
      ],
    });
    expect((await service.as(WRITER).post('/v1/entries', { server, claims })).status).toBe(201);
    const reply = await of(service.as(ACME));
    expect(serversOf(reply)).toEqual(['io.acme/build', 'io.acme/weather']);
    expect((reply.json as Config)['x-omitted']).toContainEqual({
      name: 'io.acme/vast',
      version: '1.0.0',
      reason: 'too_long',
    });
    const version = '/v1/entries/server/io.acme%2Fvast/versions/1.0.0';
    expect((await service.as(WRITER).delete(version)).status).toBe(204);
  });

  it.each(['', 'client=', 'client=emacs', 'client=vscode&client=cursor', 'client=vscode&form=all'])(
    'returns 400 for the query "%s"',
    async (query) => expectRefused(await of(service.as(ACME), query), 400, 'invalid_parameter'),
  );

  it('returns 400 too_many_servers beyond 10 000 servers', async () => {
    expect(serversOf(await of(service.as(ACME), 'client=cursor', 'many'))).toEqual(['io.many/one']);
    await addCopies(service, 'io.many/one', 10_000);
    expectRefused(await of(service.as(ACME), 'client=cursor', 'many'), 400, 'too_many_servers');
    const pagesRead = async () => {
      const { text } = await call(`${service.internalOrigin}/metrics`);
      return /^registry_page_cache_requests_total\{outcome="miss"\} (\d+)$/m.exec(text)?.[1];
    };
    const before = await pagesRead();
    expect(before).toBeDefined();
    expectRefused(await of(service.as(ACME), 'client=cursor', 'many'), 400, 'too_many_servers');
    expect(await pagesRead()).toBe(before);
  });

  it('requires a token and passes the gate', async () => {
    expectChallenge(await of(service));
    expectRefused(await of(service.as({ org: 'contoso' })), 403, 'registry_forbidden');
    expectRefused(await of(service.as(ACME), 'client=cursor', 'nowhere'), 404, 'registry_not_found');
  });

  it('is the same at each path of the registry, and works with a key', async () => {
    const { text } = await of(service.as(ACME), 'client=cursor', 'ide');
    for (const path of ['/registry/ide/v0', '/registry/ide', '/v0.1', '/v0'])
      expect((await service.get(`${path}/x/client-config?client=cursor`)).text, path).toBe(text);
    const withKey = await service.get(`/registry/ide/k/${key}/x/client-config?client=cursor`);
    expect(serversOf(withKey)).toContain('io.acme/deploy');
    const wrong = await service.get(`/registry/ide/k/${aKey()}/x/client-config?client=cursor`);
    expectRefused(wrong, 404, 'registry_not_found');
  });
});

describe('the command client-config', () => {
  const run = (...args: string[]) =>
    new Cli(['client-config', '--url', `${service.origin}/registry/main/`, ...args]).finished;

  it('writes the file, and reports the number of omitted servers', async () => {
    const token = folder.write('token', `${service.issuer.sign(ACME)}\n`);
    const output = folder.file('mcp.json');
    const args = ['--client', 'cursor', '--token-file', token, '--output', output];
    expect(await run(...args)).toEqual({
      code: 0,
      output: '1 server(s) cannot be expressed for cursor: see x-omitted in the file\n',
    });
    expect(readFileSync(output, 'utf8')).toBe((await of(service.as(ACME))).text);
  });

  it('reports a refusal and writes nothing', async () => {
    const output = folder.file('none.json');
    const { code, output: message } = await run('--client', 'cursor', '--output', output);
    expect({ code, message }).toEqual({
      code: 1,
      message: 'client-config: the registry returned status 401: it requires a token, see --token-file\n',
    });
    expect(existsSync(output)).toBe(false);
  });
});
