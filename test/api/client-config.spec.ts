import { existsSync, readFileSync } from 'node:fs';
import { parse } from 'smol-toml';
import { beforeAll, describe, expect, it } from 'vitest';
import { shortKey } from '../../src/client-config/server-writer.js';
import { Cli } from '../support/cli.js';
import { ACME_WRITER, SUPER_ADMIN } from '../support/callers.js';
import { aServer, aSkill, type Document } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import type { Reply, Sender } from '../support/http.js';
import { addCopies } from '../support/managed-entries.js';
import { expectChallenge, expectRefused } from '../support/matchers.js';
import { callTool, toolResult } from '../support/mcp.js';
import { aKey } from '../support/registry-keys.js';
import { aService } from '../support/service.js';
import { storeContent } from '../support/stored-content.js';

const ACME = { sub: 'ada', org: 'acme' };
const PLATFORM = { sub: 'pia', org: 'acme', team: 'platform' };
const WRITER = { sub: 'wim', org: 'acme', role: 'writer' };
const CLIENTS = ['vscode', 'copilot', 'claude-code', 'cursor'];
const FORMS = ['servers', 'allowlist'];

const remote = (url: string) => ({ remotes: [{ type: 'streamable-http', url }] });
const npm = (identifier: string, more: Document = {}) => ({
  packages: [{ registryType: 'npm', identifier, version: '1.2.3', transport: { type: 'stdio' }, ...more }],
});

const MARKETPLACE = { name: 'acme', owner: 'Acme' };
/** The plugins have no content until a test stores it. */
const PLUGINS = ['io.tools/both', 'io.tools/left', 'io.tools/plain', 'io.tools/odd'].map((name) =>
  aSkill(name),
);

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
  .source('many', {
    claims: { org: 'acme' },
    servers: [aServer('io.many/none'), aServer('io.many/one', '1.0.0', npm('one'))],
  })
  .source('busy', { claims: { org: 'acme' }, servers: [aServer('io.busy/one', '1.0.0', npm('one'))] })
  .source('tools', { claims: { org: 'acme' }, plugins: PLUGINS })
  .registry('market', { sources: ['tools', 'published'], claims: { org: 'acme' }, marketplace: MARKETPLACE })
  .registry('shelf', { sources: ['tools', 'published'], claims: { org: 'acme' } })
  .registry('main', { sources: ['open', 'platform', 'published'], claims: { org: 'acme' } })
  .registry('many', { sources: ['many'], claims: { org: 'acme' } })
  .registry('busy', { sources: ['busy'], claims: { org: 'acme' } })
  .registry('ide', {
    sources: ['open', 'platform'],
    claims: { org: 'acme' },
    anonymous: { claims: { org: 'acme' } },
    keys: [{ name: 'ci', secretFile: folder.file('key'), claims: { org: 'acme', team: 'platform' } }],
    marketplace: MARKETPLACE,
  })
  .configuration({ rootRegistry: 'ide' })
  .runs();

const pathOf = (query: string, registry = 'main') => `/registry/${registry}/v0.1/x/client-config?${query}`;
const of = (sender: Sender, query = 'client=cursor', registry = 'main') =>
  sender.get(pathOf(query, registry));

/** Returns the distinct reasons for which `how_to_connect` omits a server; undefined for a configuration. */
async function reasonsFor(name: string): Promise<unknown[]> {
  const { clients } = toolResult(await callTool(service.as(ACME), 'main', 'how_to_connect', { name })) as {
    clients: { omitted?: { reason: string } }[];
  };
  return [...new Set(clients.map(({ omitted }) => omitted?.reason))];
}

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

  it('reflects publishing and deleting immediately', async () => {
    const claims = { org: 'acme' };
    const server = aServer('io.acme/new', '1.0.0', remote('https://new.acme.example/mcp'));
    expect(serversOf(await of(service.as(WRITER)))).not.toContain('io.acme/new');
    expect((await service.as(WRITER).post('/v1/entries', { server, claims })).status).toBe(201);
    expect(serversOf(await of(service.as(WRITER)))).toContain('io.acme/new');
    const version = '/v1/entries/server/io.acme%2Fnew/versions/1.0.0';
    expect((await service.as(WRITER).delete(version)).status).toBe(204);
    expect(serversOf(await of(service.as(WRITER)))).not.toContain('io.acme/new');
  });

  it('omits and counts a server of more than 64 KiB, and one that expands to more', async () => {
    const claims = { org: 'acme' };
    const url = 'https://vast.acme.example/';
    const expanding = {
      url: `${url}${'{id}'.repeat(500)}`,
      variables: { id: { value: 'x'.repeat(5_000) } },
    };
    const vast = {
      'io.acme/vast-document': { ...remote(url), notes: 'x'.repeat(66_000) },
      'io.acme/vast-text': { remotes: [{ type: 'streamable-http', ...expanding }] },
    };
    const published = Object.entries({
      ...vast,
      'io.acme/long': { ...remote(url), notes: 'x'.repeat(60_000) },
    });
    for (const [name, more] of published) {
      const server = aServer(name, '1.0.0', more);
      expect((await service.as(WRITER).post('/v1/entries', { server, claims })).status).toBe(201);
    }
    for (const client of CLIENTS) {
      const reply = await of(service.as(ACME), `client=${client}`);
      const { servers, mcpServers } = reply.json as Config & { servers: object };
      expect(Object.keys(servers ?? mcpServers)).toEqual([
        'io.acme/build',
        'io.acme/long',
        'io.acme/weather',
      ]);
      expect(reply.headers['x-omitted-count']).toBe('3');
      expect((reply.json as Config)['x-omitted']).toEqual([
        { name: 'io.acme/bundle', version: '1.0.0', reason: 'no_connection' },
        ...Object.keys(vast).map((name) => ({ name, version: '1.0.0', reason: 'too_long' })),
      ]);
    }
    expect(await reasonsFor('io.acme/vast-document')).toEqual(['too_long']);
    expect(await reasonsFor('io.acme/vast-text')).toEqual(['too_long']);
    expect(await reasonsFor('io.acme/long')).toEqual([undefined]);
    for (const [name] of published) {
      const version = `/v1/entries/server/${encodeURIComponent(name)}/versions/1.0.0`;
      expect((await service.as(WRITER).delete(version)).status).toBe(204);
    }
  });

  it('omits and counts a package that could make its launcher run something else', async () => {
    const claims = { org: 'acme' };
    const registry = { type: 'named', name: '--registry', value: 'https://evil.example' };
    const option = { name: 'NODE_OPTIONS', value: '--require=/tmp/evil.js' };
    const unsafe = {
      'io.acme/argument': npm('one', { runtimeArguments: [registry] }),
      'io.acme/variable': npm('one', { environmentVariables: [option] }),
    };
    for (const [name, more] of Object.entries(unsafe)) {
      const server = aServer(name, '1.0.0', more);
      expect((await service.as(WRITER).post('/v1/entries', { server, claims })).status).toBe(201);
    }
    for (const form of FORMS) {
      const reply = await of(service.as(ACME), `client=claude-code&form=${form}`);
      expect(reply.headers['x-omitted-count']).toBe('3');
      expect((reply.json as Config)['x-omitted']).toMatchObject([
        { name: 'io.acme/argument', reason: 'unsafe_runtime_argument' },
        { name: 'io.acme/bundle' },
        { name: 'io.acme/variable', reason: 'unsafe_environment_variable' },
      ]);
      expect(reply.text).not.toMatch(/evil|NODE_OPTIONS/);
    }
    expect(await reasonsFor('io.acme/argument')).toEqual(['unsafe_runtime_argument']);
    expect(await reasonsFor('io.acme/variable')).toEqual(['unsafe_environment_variable']);
    for (const name of Object.keys(unsafe)) {
      const version = `/v1/entries/server/${encodeURIComponent(name)}/versions/1.0.0`;
      expect((await service.as(WRITER).delete(version)).status).toBe(204);
    }
  });

  it('is TOML for Codex', async () => {
    const toml = async (form: string) => {
      const { status, headers, text } = await of(service.as(ACME), `client=codex&form=${form}`);
      expect({ status, type: headers['content-type'], omitted: headers['x-omitted-count'] }).toEqual({
        status: 200,
        type: 'application/toml',
        omitted: '1',
      });
      const omitted = text.slice(text.indexOf('# [[x-omitted]]')).replace(/^# /gm, '');
      expect(parse(omitted)).toEqual({
        'x-omitted': [{ name: 'io.acme/bundle', version: '1.0.0', reason: 'no_connection' }],
      });
      return parse(text);
    };
    expect(await toml('servers')).toEqual({
      mcp_servers: {
        [shortKey('io.acme/build')]: { command: 'npx', args: ['-y', '@acme/build@1.2.3'] },
        [shortKey('io.acme/weather')]: { url: 'https://weather.acme.example/mcp' },
      },
    });
    for (const form of ['allowlist', 'managed'])
      expect(await toml(form)).toEqual({
        mcp_servers: {
          [shortKey('io.acme/build')]: expect.anything() as object,
          [shortKey('io.acme/weather')]: { identity: { url: 'https://weather.acme.example/mcp' } },
        },
      });
  });

  it('denies deleted versions that the caller sees, unless a listed server is the same', async () => {
    const versions: [string, string, Document, object][] = [
      ['io.acme/old', '1.0.0', remote('https://old.acme.example/mcp'), { org: 'acme' }],
      ['io.acme/old', '1.1.0', npm('@acme/old'), { org: 'acme' }],
      ['io.acme/old', '2.0.0', remote('https://new.acme.example/mcp'), { org: 'acme' }],
      ['io.acme/before', '1.0.0', remote('https://new.acme.example/mcp'), { org: 'acme' }],
      [
        'io.acme/hidden',
        '1.0.0',
        remote('https://hidden.acme.example/mcp'),
        { org: 'acme', team: 'platform' },
      ],
    ];
    const writer = service.as({ ...WRITER, team: 'platform' });
    for (const [name, version, more, claims] of versions) {
      const server = aServer(name, version, more);
      expect((await writer.post('/v1/entries', { server, claims })).status).toBe(201);
    }
    for (const [name, version] of versions.filter(([, version]) => version !== '2.0.0')) {
      const path = `/v1/entries/server/${encodeURIComponent(name)}/versions/${version}/status`;
      expect((await writer.send('PATCH', path, { body: { status: 'deleted' } })).status).toBe(200);
    }
    const deniedMcpServers = [
      { serverCommand: ['npx', '-y', '@acme/old@1.2.3'] },
      { serverUrl: 'https://old.acme.example/mcp' },
    ];
    const omitted = { name: 'io.acme/before', version: '1.0.0', reason: 'still_listed' };
    for (const client of ['vscode', 'copilot', 'claude-code']) {
      const denylist = await of(service.as(ACME), `client=${client}&form=denylist`);
      expect(denylist.json).toEqual({ deniedMcpServers, 'x-omitted': [omitted] });
      expect(denylist.headers['x-omitted-count']).toBe('1');
      const allowlist = (await of(service.as(ACME), `client=${client}&form=allowlist`)).json as object;
      expect((await of(service.as(ACME), `client=${client}&form=managed`)).json).toEqual({
        ...allowlist,
        deniedMcpServers,
        'x-omitted': [{ name: 'io.acme/bundle', version: '1.0.0', reason: 'no_connection' }, omitted],
      });
    }
    const platform = (await of(service.as(PLATFORM), 'client=copilot&form=denylist')).json;
    expect(platform).toMatchObject({
      deniedMcpServers: [{ serverUrl: 'https://hidden.acme.example/mcp' }, ...deniedMcpServers],
    });
    for (const name of ['old', 'before', 'hidden'])
      for (const version of ['1.0.0', '1.1.0', '2.0.0'])
        await writer.delete(`/v1/entries/server/io.acme%2F${name}/versions/${version}`);
    expect((await of(service.as(ACME), 'client=copilot&form=denylist')).json).toEqual({
      deniedMcpServers: [],
    });
  });

  it.each(['client=cursor&form=managed', 'client=cursor&form=denylist', 'client=codex&form=denylist'])(
    'returns 400 for a form that the client does not support: %s',
    async (query) => {
      expectRefused(await of(service.as(ACME), query), 400, 'invalid_parameter');
      expect((await of(service.as(ACME), query.replace(/form=.*/, 'form=allowlist'))).status).toBe(200);
    },
  );

  it.each(['', 'client=', 'client=emacs', 'client=vscode&client=cursor', 'client=vscode&form=all'])(
    'returns 400 for the query "%s"',
    async (query) => expectRefused(await of(service.as(ACME), query), 400, 'invalid_parameter'),
  );

  it('contains 10 001 servers, streamed with an ETag and the number of omitted servers', async () => {
    const copies = 10_000;
    const names = [
      'io.many/none',
      'io.many/one',
      ...Array.from({ length: copies }, (_, n) => `io.many/one-${n + 1}`),
    ];
    const read = (headers = {}) => service.as(ACME).get(pathOf('client=cursor', 'many'), headers);
    expect(serversOf(await read())).toEqual(['io.many/one']);
    await addCopies(service, 'io.many/one', copies);
    const first = await read();
    expect(serversOf(first)).toEqual(names.slice(1).sort());
    expect(first.text).toBe(`${JSON.stringify(first.json, null, 2)}\n`);
    expect((first.json as Config)['x-omitted']).toMatchObject([{ name: 'io.many/none' }]);
    expect(first.headers).toMatchObject({
      etag: expect.stringMatching(/^W\/"/),
      'cache-control': 'private, no-cache',
      'x-omitted-count': '1',
    });
    const head = (headers = {}) =>
      service.as(ACME).send('HEAD', pathOf('client=cursor', 'many'), { headers });
    const { etag } = first.headers;
    expect(await head()).toMatchObject({ status: 200, headers: { etag, 'x-omitted-count': '1' } });
    expect(await read({ 'If-None-Match': String(etag) })).toMatchObject({ status: 304, text: '' });
    await addCopies(service, 'io.many/none', 1);
    const changed = await head({ 'If-None-Match': String(etag) });
    expect(changed).toMatchObject({ status: 200, headers: { 'x-omitted-count': '2' } });
    expect(changed.headers.etag).not.toBe(etag);
  });

  it('lists every server while the catalog changes constantly', async () => {
    await addCopies(service, 'io.busy/one', 300);
    const read = async () => serversOf(await of(service.as(ACME), 'client=cursor', 'busy')).length;
    let isOver = false;
    const writing = (async () => {
      while (!isOver)
        await service.database.query(`update source set revision = revision + 1 where name = 'busy'`);
    })();
    const counts: number[] = [];
    for (let request = 0; request < 3; request += 1) counts.push(await read().catch(() => -1));
    isOver = true;
    await writing;
    expect(counts).toEqual([301, 301, 301]);
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

describe('the servers of plugins', () => {
  const LEFT = ['npx', '-y', 'left-pad@1.3.0'];
  const REMOTE = 'https://tools.acme.example/mcp';
  const REPOSITORY = 'https://registry.example.com/registry/market/git/marketplace.git';
  const of = (client: string, form: string, registry = 'market', sender = service.as(ACME)) =>
    sender.get(pathOf(`client=${client}&form=${form}`, registry));
  const jsonOf = async (...asked: Parameters<typeof of>) => {
    const reply = await of(...asked);
    expect(reply.status, reply.text).toBe(200);
    return { ...(reply.json as Document), omitted: reply.headers['x-omitted-count'] };
  };
  const block = (names: string[]) =>
    service.as(SUPER_ADMIN).put('/v1/blocks/plugins', { names, reason: 'SEC-12' });
  const unblock = () => service.as(SUPER_ADMIN).delete('/v1/blocks/plugins');
  const disabled = async (registry = 'market', sender = service.as(ACME)) =>
    (await jsonOf('claude-code', 'managed', registry, sender))['enabledPlugins' as keyof object];

  beforeAll(async () => {
    const mcpServers = {
      left: { type: 'stdio', command: LEFT[0], args: LEFT.slice(1), env: { TOKEN: 'secret' } },
      own: { type: 'stdio', command: 'node', args: ['${PLUGIN_ROOT}/server.js'] },
      remote: { type: 'streamable-http', url: REMOTE },
    };
    await storeContent(service, 'plugin', 'io.tools/both', '1.0.0', {
      'mcp.json': JSON.stringify({ mcpServers }),
    });
    await storeContent(service, 'plugin', 'io.tools/left', '1.0.0', {
      '.mcp.json': JSON.stringify({ right: { command: 'npx', args: ['-y', 'right-pad'] } }),
    });
    await storeContent(service, 'plugin', 'io.tools/plain', '1.0.0', { 'README.md': 'Plain' });
  });

  const COMMANDS = [
    { serverCommand: LEFT },
    { serverUrl: REMOTE },
    { serverCommand: ['npx', '-y', 'right-pad'] },
  ];
  const ALLOWED: Record<string, Document> = {
    vscode: { allowedMcpServers: COMMANDS },
    copilot: { allowedMcpServers: COMMANDS },
    'claude-code': { allowManagedMcpServersOnly: true, allowedMcpServers: COMMANDS },
    cursor: { commandEntries: [`*${LEFT.join(' ')}`, '*npx -y right-pad'], urlEntries: [REMOTE] },
  };
  const OMITTED = [{ name: 'io.tools/both', version: '1.0.0', server: 'own', reason: 'no_launcher' }];
  const exact = ([executable, ...args]: string[]) => ({
    identity: { command: { executable, args: args.map((value) => ({ match: 'exact', value })) } },
  });
  const IN_CODEX = {
    // Codex would treat an empty table as a ban on the servers of plugins.
    mcp_servers: { none: { identity: { command: { executable: '', args: [] } } } },
    plugins: {
      'io-tools-both@acme': { mcp_servers: { left: exact(LEFT), remote: { identity: { url: REMOTE } } } },
      'io-tools-left@acme': { mcp_servers: { right: exact(['npx', '-y', 'right-pad']) } },
    },
  };
  const SETTINGS = {
    extraKnownMarketplaces: { acme: { source: { source: 'git', url: REPOSITORY }, autoUpdate: true } },
    strictKnownMarketplaces: [{ source: 'git', url: REPOSITORY }],
    enabledPlugins: {},
  };
  const INSTALL = {
    extraKnownMarketplaces: { acme: { source: { source: 'git', url: REPOSITORY } } },
    enabledPlugins: { 'io-tools-both@acme': true, 'io-tools-left@acme': true, 'io-tools-plain@acme': true },
  };

  it.each(Object.keys(ALLOWED))('are included in each form of %s that supports them', async (client) => {
    const allowlist = { ...ALLOWED[client], 'x-omitted': OMITTED, omitted: '1' };
    for (const registry of ['market', 'shelf']) {
      expect(await jsonOf(client, 'servers', registry)).toMatchObject({ omitted: '0' });
      expect((await of(client, 'servers', registry)).text).not.toContain('pad');
      expect(await jsonOf(client, 'allowlist', registry)).toEqual(allowlist);
    }
    if (client === 'cursor') {
      for (const form of ['managed', 'denylist', 'plugins'])
        expectRefused(await of(client, form), 400, 'invalid_parameter');
      return;
    }
    expect(await jsonOf(client, 'denylist')).toEqual({ deniedMcpServers: [], omitted: '0' });
    const managed = { ...allowlist, deniedMcpServers: [] };
    expect(await jsonOf(client, 'managed', 'shelf')).toEqual(managed);
    expect(await jsonOf(client, 'managed')).toEqual({ ...managed, ...SETTINGS });
    expect(await jsonOf(client, 'plugins')).toEqual({ ...INSTALL, omitted: '0' });
    expectRefused(await of(client, 'plugins', 'shelf'), 400, 'invalid_parameter');
  });

  it('are included in each form of Codex that supports them, by plugin', async () => {
    const toml = async (form: string, registry = 'market') => parse((await of('codex', form, registry)).text);
    expect(await toml('servers')).toEqual({ mcp_servers: {} });
    expect(await toml('allowlist')).toEqual(IN_CODEX);
    expect(await toml('managed')).toEqual({
      ...IN_CODEX,
      marketplaces: {
        restrict_to_allowed_sources: true,
        allowed_sources: { acme: { source: 'git', url: REPOSITORY } },
      },
    });
    // Codex identifies plugins by their marketplace.
    for (const form of ['allowlist', 'managed'])
      expect(await toml(form, 'shelf')).toEqual({ mcp_servers: {} });
    expect(await toml('plugins')).toEqual({
      marketplaces: { acme: { source_type: 'git', source: REPOSITORY } },
      plugins: Object.fromEntries(Object.keys(INSTALL.enabledPlugins).map((id) => [id, { enabled: true }])),
    });
    expectRefused(await of('codex', 'denylist'), 400, 'invalid_parameter');
    expectRefused(await of('codex', 'plugins', 'shelf'), 400, 'invalid_parameter');
  });

  it('are byte-stable, with an ETag that changes with the marketplace’s URL', async () => {
    const [one, other] = [
      await of('copilot', 'managed'),
      await of('copilot', 'managed', 'market', service.as(PLATFORM)),
    ];
    expect(other.text).toBe(one.text);
    expect(other.headers.etag).toBe(one.headers.etag);
    const keyed = await service.get(`/registry/ide/k/${key}/x/client-config?client=copilot&form=managed`);
    expect(keyed.json).toMatchObject({
      strictKnownMarketplaces: [
        { url: `https://registry.example.com/registry/ide/k/${key}/git/marketplace.git` },
      ],
    });
    expect((await of('copilot', 'managed', 'ide', service.as(PLATFORM))).text).not.toContain('/k/');
  });

  it('are denied while a block holds the plugin, which is disabled', async () => {
    await block(['io.tools/both']);
    expect(await jsonOf('copilot', 'denylist')).toEqual({
      deniedMcpServers: [{ serverCommand: LEFT }, { serverUrl: REMOTE }],
      'x-omitted': [{ ...OMITTED[0], reason: 'variable_reference' }],
      omitted: '1',
    });
    expect(await jsonOf('copilot', 'managed')).toMatchObject({
      allowedMcpServers: [{ serverCommand: ['npx', '-y', 'right-pad'] }],
      deniedMcpServers: [{ serverCommand: LEFT }, { serverUrl: REMOTE }],
      enabledPlugins: { 'io-tools-both@acme': false },
    });
    expect(Object.keys(parse((await of('codex', 'managed')).text)['plugins'] ?? {})).toEqual([
      'io-tools-left@acme',
    ]);
    expect(await jsonOf('vscode', 'plugins')).toMatchObject({
      enabledPlugins: { 'io-tools-left@acme': true, 'io-tools-plain@acme': true },
    });
    expect(await jsonOf('copilot', 'managed', 'shelf')).not.toHaveProperty('enabledPlugins');
    await unblock();
    expect(await disabled()).toEqual({});
    expect(await jsonOf('copilot', 'denylist')).toMatchObject({ deniedMcpServers: [] });
  });

  it('are denied even if a remaining plugin starts the same servers, but not if a listed server does', async () => {
    await block(['io.tools/left']);
    const RIGHT = { serverCommand: ['npx', '-y', 'right-pad'] };
    const twin = { plugin: aSkill('io.acme/twin'), claims: { org: 'acme' } };
    const writer = service.as(ACME_WRITER);
    expect((await writer.post('/v1/entries', twin)).status).toBe(201);
    expect(await jsonOf('copilot', 'denylist')).toMatchObject({ deniedMcpServers: [{}] });
    await storeContent(service, 'plugin', 'io.acme/twin', '1.0.0', {
      '.mcp.json': JSON.stringify({ right: { command: 'npx', args: ['-y', 'right-pad'] } }),
    });
    expect(await jsonOf('copilot', 'denylist')).toMatchObject({ deniedMcpServers: [RIGHT], omitted: '0' });
    const isAllowed = async (client: string, form: string) => {
      const reply = await of(client, form);
      const file = client === 'codex' ? parse(reply.text) : (reply.json as Document);
      return JSON.stringify({ ...file, deniedMcpServers: [], 'x-omitted': [] }).includes('right-pad');
    };
    const forms = [...Object.keys(ALLOWED), 'codex'].map((client) => [client, 'allowlist'] as const);
    for (const [client, form] of [...forms, ['codex', 'managed'], ['copilot', 'managed']] as const)
      expect(await isAllowed(client, form), `${client} ${form}`).toBe(false);
    const packages = [{ registryType: 'npm', identifier: 'right-pad', transport: { type: 'stdio' } }];
    const server = aServer('io.acme/right', '1.0.0', { packages });
    expect((await writer.post('/v1/entries', { server, claims: { org: 'acme' } })).status).toBe(201);
    expect(await jsonOf('copilot', 'denylist')).toMatchObject({
      deniedMcpServers: [],
      'x-omitted': [{ name: 'io.tools/left', server: 'right', reason: 'still_listed' }],
    });
    expect((await jsonOf('copilot', 'allowlist'))['allowedMcpServers' as keyof object]).toEqual([
      RIGHT,
      RIGHT,
      { serverCommand: LEFT },
      { serverUrl: REMOTE },
    ]);
    await unblock();
    expect((await writer.delete('/v1/entries/plugin/io.acme%2Ftwin/versions/1.0.0')).status).toBe(204);
    expect((await writer.delete('/v1/entries/server/io.acme%2Fright/versions/1.0.0')).status).toBe(204);
  });

  it('do not lift the denial of a deleted server with the same command', async () => {
    const claims = { org: 'acme' };
    const writer = service.as(ACME_WRITER);
    const server = aServer('io.acme/evil', '1.0.0', npm('evil'));
    for (const entry of [{ server }, { plugin: aSkill('io.acme/helper') }])
      expect((await writer.post('/v1/entries', { ...entry, claims })).status).toBe(201);
    const start = (name: string) => ({ command: 'npx', args: ['-y', name] });
    await storeContent(service, 'plugin', 'io.acme/helper', '1.0.0', {
      '.mcp.json': JSON.stringify({ evil: start('evil@1.2.3'), good: start('good@1.2.3') }),
    });
    const EVIL = { serverCommand: ['npx', '-y', 'evil@1.2.3'] };
    const GOOD = { serverCommand: ['npx', '-y', 'good@1.2.3'] };
    const before = await jsonOf('claude-code', 'managed');
    expect(before).toMatchObject({ deniedMcpServers: [] });
    expect(before).toHaveProperty('allowedMcpServers', expect.arrayContaining([EVIL, GOOD]));
    const path = '/v1/entries/server/io.acme%2Fevil/versions/1.0.0';
    expect((await writer.send('PATCH', `${path}/status`, { body: { status: 'deleted' } })).status).toBe(200);
    for (const form of ['allowlist', 'managed']) {
      const after = await jsonOf('claude-code', form);
      expect(after).toHaveProperty('allowedMcpServers', expect.arrayContaining([GOOD]));
      expect(after).not.toHaveProperty('allowedMcpServers', expect.arrayContaining([EVIL]));
      expect(after).toHaveProperty(
        'x-omitted',
        expect.arrayContaining([
          { name: 'io.acme/helper', version: '1.0.0', server: 'evil', reason: 'denied' },
        ]),
      );
    }
    expect(await jsonOf('claude-code', 'denylist')).toMatchObject({ deniedMcpServers: [EVIL] });
    for (const each of [path, '/v1/entries/plugin/io.acme%2Fhelper/versions/1.0.0'])
      expect((await writer.delete(each)).status).toBe(204);
  });

  it('are denied even from a file that cannot be read reliably, which no allow-list uses', async () => {
    const odd = { type: 'stdio', command: 'npx', args: ['-y', 'odd-pad'], url: 'https://odd.example/mcp' };
    await storeContent(service, 'plugin', 'io.tools/odd', '1.0.0', {
      '.mcp.json': JSON.stringify({
        odd,
        x: { command: '$(x)', args: [`\${X}`] },
        long: { command: 'z', args: ['x'.repeat(200_000)] },
      }),
      'mcp.json': JSON.stringify({ more: { command: 'y'.repeat(100_000) } }),
    });
    const inOdd = (server: string, reason: string) => ({
      name: 'io.tools/odd',
      version: '1.0.0',
      server,
      reason,
    });
    const allowed = await of('copilot', 'allowlist');
    expect((allowed.json as Config)['x-omitted']).toEqual(
      expect.arrayContaining(['odd', 'x', 'long', 'more'].map((server) => inOdd(server, 'uncertain'))),
    );
    expect(allowed.text).not.toMatch(/odd-pad|odd\.example/);
    await block(['io.tools/odd']);
    expect(await jsonOf('copilot', 'denylist')).toMatchObject({
      deniedMcpServers: [{ serverUrl: odd.url }, { serverCommand: ['npx', '-y', 'odd-pad'] }],
    });
    await unblock();
  });

  it('of a removed plugin are disabled with it, for callers who would see it', async () => {
    const TEAM = { org: 'acme', team: 'platform' };
    const writer = service.as(ACME_WRITER);
    const plugin = aSkill('io.acme/gone');
    const publish = async (claims: object) => {
      expect((await writer.post('/v1/entries', { plugin, claims })).status).toBe(201);
    };
    const remove = async () => {
      expect((await writer.delete('/v1/entries/plugin/io.acme%2Fgone/versions/1.0.0')).status).toBe(204);
    };
    const GONE = { 'io-acme-gone@acme': false };
    const before = await disabled();
    await publish(TEAM);
    expect(await disabled('market', service.as(PLATFORM))).toEqual(before);
    await remove();
    expect(await disabled('market', service.as(PLATFORM))).toEqual({ ...(before as object), ...GONE });
    expect(await disabled('market', service.as(SUPER_ADMIN))).toMatchObject(GONE);
    expect(await disabled()).toEqual(before);
    expect(await disabled('ide', service.as(PLATFORM))).toEqual({});
    // Once published again, it must not be disabled for anybody, even before it has content.
    await publish({ org: 'acme' });
    for (const caller of [ACME, PLATFORM])
      expect(await disabled('market', service.as(caller))).toEqual(before);
    await remove();
    expect(await disabled()).toMatchObject(GONE);
    // An entry that is hidden from a caller must not change their response.
    const held = await disabled();
    await publish(TEAM);
    expect(await disabled()).toEqual(held);
    expect(await disabled('market', service.as(PLATFORM))).not.toMatchObject(GONE);
    await remove();
  });

  it('of a plugin that is gone upstream are disabled, until it is back', async () => {
    await service.rewrite('tools', { claims: { org: 'acme' }, plugins: PLUGINS.slice(0, 2) });
    await service.synced('tools');
    expect(await disabled()).toMatchObject({ 'io-tools-plain@acme': false });
    await service.rewrite('tools', { claims: { org: 'acme' }, plugins: PLUGINS });
    await service.synced('tools');
    expect(await disabled()).not.toHaveProperty(['io-tools-plain@acme']);
  });

  it('of sources whose claims changed are hidden like their entries', async () => {
    await service.rewrite('tools', { claims: { org: 'acme' }, plugins: PLUGINS.slice(1) });
    await service.synced('tools');
    expect(await disabled()).toMatchObject({ 'io-tools-both@acme': false });
    const claims = { org: 'acme', team: 'platform' };
    await service.reload((declared) => declared.source('tools', { claims, plugins: PLUGINS.slice(1) }));
    await service.synced('tools');
    expect(await disabled()).not.toHaveProperty(['io-tools-both@acme']);
    expect(await disabled('market', service.as(PLATFORM))).toMatchObject({ 'io-tools-both@acme': false });
    await service.reload((declared) =>
      declared.source('tools', { claims: { org: 'acme' }, plugins: PLUGINS }),
    );
    await service.synced('tools');
  });
});

describe('the client-config command', () => {
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
