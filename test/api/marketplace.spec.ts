import { randomBytes } from 'node:crypto';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { parse as parseToml } from 'smol-toml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fromBufferPromise } from 'yauzl';
import { ACME_DATA, ACME_PLATFORM, ACME_WRITER, CONTOSO_READER, SUPER_ADMIN } from '../support/callers.js';
import { Clock } from '../support/clock.js';
import { aSkill } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { GitClient } from '../support/git-client.js';
import type { Reply, Sender } from '../support/http.js';
import { expectRefused } from '../support/matchers.js';
import { aKey } from '../support/registry-keys.js';
import { aService, type ServiceUnderTest } from '../support/service.js';
import { inSoak } from '../support/soak.js';
import { pluginNameOf } from '../../dist/documents/plugin-name.js';
import { storeContent } from '../support/stored-content.js';

const folder = aFolder();
const git = new GitClient(folder);
const key = aKey();
folder.write('key', key);
const slowKey = aKey();
folder.write('slow-key', slowKey);

const MARKETPLACE = { name: 'acme', owner: 'Acme' };
const ACME = { org: 'acme' };
const PLATFORM = { org: 'acme', team: 'platform' };
const MAIN = '/registry/main/git/marketplace.git';
const FILE = '/registry/main/x/marketplace.json';
const MANIFEST = '.claude-plugin/plugin.json';
const aPlugin = aSkill;
const SOURCES = ['published', 'team', 'slow', 'huge', 'long', 'many', 'servers', 'acme'];
const LONG_NAME = `io.acme.${'x'.repeat(60)}/tool`;

const service = aService({ mode: 'full' })
  .source('published', { kind: 'managed' })
  .source('team', {
    claims: PLATFORM,
    plugins: [aPlugin('io.acme/deploy', '1.0.0')],
  })
  .source('slow', {
    claims: { ...ACME, team: 'slow' },
    plugins: [aPlugin('io.acme/slow', '1.0.0')],
  })
  .source('huge', {
    claims: { ...ACME, team: 'huge' },
    plugins: [aPlugin('io.acme/huge', '1.0.0')],
  })
  .source('long', {
    claims: { ...ACME, team: 'long' },
    plugins: [0, 1, 2].map((index) => aPlugin(`io.acme/long-${index}`, '1.0.0')),
  })
  .source('many', {
    claims: { ...ACME, team: 'many' },
    plugins: [aPlugin('io.acme/many', '1.0.0')],
  })
  .source('servers', {
    claims: { ...ACME, team: 'servers' },
    plugins: ['io.acme/portable', 'io.acme/claude', 'io.acme/odd', LONG_NAME].map((name) =>
      aPlugin(name, '1.0.0'),
    ),
  })
  .source('acme', {
    claims: ACME,
    plugins: [aPlugin('io.acme/review', '1.0.0'), aPlugin('io.acme/empty', '1.0.0')],
    skills: [
      aSkill('io.acme/greet', '1.0.0'),
      aSkill('io.acme/newer', '1.0.0'),
      aSkill('io.acme/newer', '2.0.0'),
    ],
  })
  .registry('main', {
    sources: SOURCES,
    claims: ACME,
    marketplace: MARKETPLACE,
  })
  .registry('plain', { sources: ['acme'], claims: ACME })
  .registry('ide', {
    sources: ['acme'],
    claims: ACME,
    marketplace: MARKETPLACE,
    keys: [{ name: 'ci', secretFile: folder.file('key'), claims: ACME }],
  })
  .registry('keyed', {
    sources: ['slow'],
    keys: [{ name: 'slow', secretFile: folder.file('slow-key'), claims: { ...ACME, team: 'slow' } }],
  })
  .registry('open', {
    sources: ['acme'],
    claims: ACME,
    marketplace: MARKETPLACE,
    anonymous: { claims: ACME },
  })
  .runs();

beforeAll(async () => {
  await storeContent(service, 'plugin', 'io.acme/deploy', '1.0.0', {
    'run.sh*': '#!/bin/sh\n',
    'a/b.md': 'Deploy',
    'a/.gitattributes': '*.md filter=lfs',
    'a/.gitmodules': '[submodule "x"]\n\tpath = x\n\turl = -u./x\n',
    ['x'.repeat(256)]: 'Long',
    ['x'.repeat(255)]: 'Kept',
    '.gitattributes': '* text=auto',
  });
  await storeContent(service, 'plugin', 'io.acme/review', '1.0.0', {
    [MANIFEST]: JSON.stringify({ name: 'review', version: '0', author: { name: 'Ann' } }),
    'commands/review.md': 'Review',
  });
  await storeContent(service, 'skill', 'io.acme/greet', '1.0.0', {
    'SKILL.md': '---\nname: greet\n---\nHello',
  });
  await storeContent(service, 'skill', 'io.acme/newer', '1.0.0', { 'SKILL.md': 'Old' });
});

/** Replaces the claims that the registry requires. */
const gate = (claims: object) =>
  service.reload((declared) =>
    declared.registry('main', { sources: SOURCES, claims, marketplace: MARKETPLACE }),
  );
const tokenOf = (claims: Record<string, unknown>) => service.issuer.sign(claims);
const platform = () => service.as(ACME_PLATFORM);
const data = () => service.as(ACME_DATA);
const urlWith = (token: string, path = MAIN, at: ServiceUnderTest = service) =>
  `${at.origin.replace('//', `//git:${token}@`)}${path}`;
const cloneAs = (claims: Record<string, unknown>, path = MAIN) => git.clone(urlWith(tokenOf(claims), path));
const headOf = (directory: string) => git.run(directory, 'rev-parse', 'HEAD');
const referencesIn = (path = MAIN) => `${path}/info/refs?service=git-upload-pack`;
/** The commit that a clone by this caller would have. */
async function headFor(caller: Sender, path = MAIN): Promise<string> {
  const { text } = await caller.get(referencesIn(path));
  const [, head] = /([0-9a-f]{40}) HEAD/.exec(text) ?? [];
  if (head === undefined) throw new Error(text);
  return head;
}

interface Listed {
  plugins: { name: string; version: string; source: { url: string; path: string } }[];
}
const pluginsIn = (reply: Reply) =>
  (reply.json as Listed).plugins.map(({ name, version }) => `${name}@${version}`);

describe('the marketplace file', () => {
  it('lists the visible plugins and skills whose latest version has content', async () => {
    expect(pluginsIn(await platform().get(FILE))).toEqual([
      'io-acme-deploy@1.0.0',
      'io-acme-greet@1.0.0',
      'io-acme-review@1.0.0',
    ]);
    expect(pluginsIn(await data().get(FILE))).toEqual(['io-acme-greet@1.0.0', 'io-acme-review@1.0.0']);
  });

  it('refers to the repository, with the key if the caller has one', async () => {
    const sourceIn = (reply: Reply) => (reply.json as Listed).plugins[0]?.source;
    expect(sourceIn(await data().get(FILE))).toEqual({
      source: 'git-subdir',
      url: `https://registry.example.com${MAIN}`,
      path: 'plugins/io-acme-greet',
    });
    expect(sourceIn(await service.get(`/registry/ide/k/${key}/x/marketplace.json`))?.url).toBe(
      `https://registry.example.com/registry/ide/k/${key}/git/marketplace.git`,
    );
    expect(sourceIn(await data().get('/registry/ide/x/marketplace.json'))?.url).not.toContain('/k/');
  });

  it('is 304 for its ETag', async () => {
    const { headers } = await data().get(FILE);
    expect((await data().get(FILE, { 'If-None-Match': String(headers['etag']) })).status).toBe(304);
    expect((await platform().get(FILE, { 'If-None-Match': String(headers['etag']) })).status).toBe(200);
  });

  it('is 404 where the registry has no marketplace, like the repository', async () => {
    for (const path of ['x/marketplace.json', 'git/marketplace.git/info/refs?service=git-upload-pack'])
      expectRefused(await data().get(`/registry/plain/${path}`), 404, 'marketplace_not_found');
    const command = await post(data(), '', '/registry/plain/git/marketplace.git');
    expectRefused(command, 404, 'marketplace_not_found');
  });

  it('is refused to callers whom the gate refuses, like the repository', async () => {
    for (const path of [FILE, referencesIn()])
      expectRefused(await service.as(CONTOSO_READER).get(path), 403, 'registry_forbidden');
    expectRefused(await post(service.as(CONTOSO_READER), ''), 403, 'registry_forbidden');
  });
});

describe('client-config with form=plugins', () => {
  const settingsOf = (by: Sender, client: string, path = '/registry/main') =>
    by.get(`${path}/x/client-config?client=${client}&form=plugins`);

  it('registers the marketplace and enables its plugins', async () => {
    const url = `https://registry.example.com${MAIN}`;
    const names = ['io-acme-greet@acme', 'io-acme-review@acme'];
    for (const client of ['claude-code', 'copilot', 'vscode'])
      expect((await settingsOf(data(), client)).json).toEqual({
        extraKnownMarketplaces: { acme: { source: { source: 'git', url } } },
        enabledPlugins: Object.fromEntries(names.map((name) => [name, true])),
      });
    const codex = await settingsOf(data(), 'codex');
    expect(codex.headers['content-type']).toBe('application/toml');
    expect(parseToml(codex.text)).toEqual({
      marketplaces: { acme: { source_type: 'git', source: url } },
      plugins: Object.fromEntries(names.map((name) => [name, { enabled: true }])),
    });
    expect((await settingsOf(platform(), 'codex')).text).toContain('io-acme-deploy@acme');
    const keyed = await settingsOf(service, 'copilot', `/registry/ide/k/${key}`);
    expect(keyed.text).toContain(`/k/${key}/git/marketplace.git`);
  });

  it('is 400 for other clients, and where the registry has no marketplace', async () => {
    expectRefused(await settingsOf(data(), 'cursor'), 400, 'invalid_parameter');
    expectRefused(await settingsOf(data(), 'codex', '/registry/plain'), 400, 'invalid_parameter');
  });
});

describe('git clone', () => {
  it('gets the marketplace, each plugin and each skill as a plugin, in one commit without parents', async () => {
    const clone = await cloneAs(ACME_PLATFORM);
    const read = (path: string) => readFileSync(join(clone, path), 'utf8');
    expect(JSON.parse(read('.claude-plugin/marketplace.json'))).toMatchObject({
      name: 'acme',
      plugins: [
        { source: './plugins/io-acme-deploy' },
        { name: 'io-acme-greet' },
        { name: 'io-acme-review' },
      ],
    });
    expect(read('plugins/io-acme-deploy/a/b.md')).toBe('Deploy');
    expect(statSync(join(clone, 'plugins/io-acme-deploy/run.sh')).mode & 0o111).toBe(0o111);
    expect(statSync(join(clone, 'plugins/io-acme-deploy/a/b.md')).mode & 0o111).toBe(0);
    expect(read('plugins/io-acme-greet/skills/greet/SKILL.md')).toContain('Hello');
    expect(JSON.parse(read(`plugins/io-acme-review/${MANIFEST}`))).toMatchObject({
      name: 'io-acme-review',
      version: '1.0.0',
      author: { name: 'Ann' },
    });
    expect(await git.run(clone, 'log', '--format=%P|%ct|%an')).toBe('|946684800|Registry');
    await git.run(clone, 'fsck', '--strict');
  });

  it('leaves out only the files that would make it fail', async () => {
    const strict = ['fetch.fsckObjects=true', 'filter.lfs.required=true', 'filter.lfs.smudge=false'];
    const options = strict.flatMap((setting) => ['-c', setting]);
    const clone = await git.clone(urlWith(tokenOf(ACME_PLATFORM)), ...options);
    const listed = await git.run(clone, 'ls-files', 'plugins/io-acme-deploy');
    expect(listed.split('\n').map((path) => path.slice('plugins/io-acme-deploy/'.length))).toEqual([
      ...['.claude-plugin/plugin.json', '.cursor-plugin/plugin.json', '.gitattributes', 'a/b.md'],
      ...['plugin.json', 'run.sh', 'x'.repeat(255)],
    ]);
  });

  it('accepts a bearer token or a key, and needs neither in an anonymous registry', async () => {
    const token = tokenOf(ACME_DATA);
    const bearer = await git.clone(
      service.origin + MAIN,
      '-c',
      `http.extraHeader=Authorization: Bearer ${token}`,
    );
    expect(await headOf(bearer)).toBe(await headFor(data()));
    const keyed = await git.clone(`${service.origin}/registry/ide/k/${key}/git/marketplace.git`);
    expect(await headOf(keyed)).toBe(await headFor(service, '/registry/open/git/marketplace.git'));
    expect(await headOf(keyed)).toBe(await headOf(bearer));
    expect(await git.run(keyed, 'grep', '-c', key).catch(() => 'nothing found')).toBe('nothing found');
  });

  it('works with every protocol version, and as a partial clone', async () => {
    const [zero, two] = await Promise.all(
      ['0', '2'].map((version) =>
        git.clone(urlWith(tokenOf(ACME_DATA)), '-c', `protocol.version=${version}`).then(headOf),
      ),
    );
    expect(zero).toBe(two);
    const partial = folder.file('partial');
    const from = urlWith(tokenOf(ACME_DATA));
    await git.run(
      folder.path,
      'clone',
      '--quiet',
      '--depth=1',
      '--filter=tree:0',
      '--no-checkout',
      from,
      partial,
    );
    await git.run(partial, 'sparse-checkout', 'set', 'plugins/io-acme-greet');
    await git.run(partial, 'checkout', '--quiet', 'HEAD');
    expect(existsSync(join(partial, 'plugins/io-acme-greet/skills/greet/SKILL.md'))).toBe(true);
    expect(existsSync(join(partial, 'plugins/io-acme-review'))).toBe(false);
  });

  it('fails without a token or with a bad one', async () => {
    await expect(git.clone(service.origin + MAIN)).rejects.toThrow(/could not read Username/);
    await expect(git.clone(urlWith('x.y.z'))).rejects.toThrow(/Authentication failed/);
    await expect(git.clone(urlWith(tokenOf(CONTOSO_READER)))).rejects.toThrow(/403/);
  });
});

describe('a plugin for every client', () => {
  const TEAM = { ...ACME, sub: 'sam', team: 'servers' };
  const STDIO = { type: 'stdio', command: 'node' };
  let clone: string;
  const jsonIn = (path: string) => JSON.parse(readFileSync(join(clone, 'plugins', path), 'utf8')) as unknown;

  beforeAll(async () => {
    const servers = (args: string[]) =>
      JSON.stringify({ mcpServers: { one: { ...STDIO, args }, two: { command: './a', cwd: '/' } } });
    await storeContent(service, 'plugin', 'io.acme/portable', '1.0.0', {
      'mcp.json': servers(['${PLUGIN_ROOT}/a.js']),
    });
    await storeContent(service, 'plugin', 'io.acme/claude', '1.0.0', {
      '.mcp.json': servers(['${CLAUDE_PLUGIN_ROOT}/a.js']),
      [MANIFEST]: JSON.stringify({ name: 'x', license: 'MIT' }),
    });
    await storeContent(service, 'plugin', 'io.acme/odd', '1.0.0', {
      '.mcp.json': Buffer.from([0x7b, 0xff, 0x00]),
      'plugin.json': '[[[',
      'commands/a.md': 'A',
    });
    await storeContent(service, 'plugin', LONG_NAME, '1.0.0', { 'README.md': 'Long' });
    clone = await cloneAs(TEAM);
  });

  it('has both servers files, each with the variables of its format', () => {
    expect(jsonIn('io-acme-portable/.mcp.json')).toMatchObject({
      mcpServers: { one: { ...STDIO, args: ['${CLAUDE_PLUGIN_ROOT}/a.js'] } },
    });
    expect(jsonIn('io-acme-claude/mcp.json')).toMatchObject({
      $schema: 'https://agent-plugins.org/schemas/1.0.0/mcp.schema.json',
      mcpServers: { one: { ...STDIO, args: ['${PLUGIN_ROOT}/a.js'] } },
    });
    for (const path of ['io-acme-portable/.mcp.json', 'io-acme-claude/mcp.json'])
      expect(Object.keys((jsonIn(path) as { mcpServers: object }).mcpServers)).toEqual(['one']);
  });

  it('has a manifest of Agent Plugins 1.0, and the publisher’s files as they were', () => {
    const $schema = 'https://agent-plugins.org/schemas/1.0.0/plugin.schema.json';
    for (const name of ['io-acme-portable', 'io-acme-claude', 'io-acme-greet'])
      expect(jsonIn(`${name}/plugin.json`)).toMatchObject({ $schema, name, version: '1.0.0' });
    expect(jsonIn(`io-acme-claude/${MANIFEST}`)).toMatchObject({ name: 'io-acme-claude', license: 'MIT' });
    expect(jsonIn('io-acme-portable/mcp.json')).toMatchObject({ mcpServers: { two: { cwd: '/' } } });
  });

  it('does not fail for files that cannot be read', () => {
    expect(readFileSync(join(clone, 'plugins/io-acme-odd/.mcp.json'))).toEqual(
      Buffer.from([0x7b, 0xff, 0x00]),
    );
    expect(existsSync(join(clone, 'plugins/io-acme-odd/mcp.json'))).toBe(false);
    expect(jsonIn('io-acme-odd/plugin.json')).toMatchObject({ name: 'io-acme-odd' });
  });

  it('has a name of at most 64 characters', () => {
    const name = pluginNameOf(LONG_NAME);
    expect(name).toHaveLength(64);
    expect(jsonIn(`${name}/${MANIFEST}`)).toMatchObject({ name });
  });

  it('lists untranslated servers in the state of its content', async () => {
    const claims = PLATFORM;
    const writer = service.as(ACME_WRITER);
    const path = '/v1/entries/plugin/io.acme%2Fpartial';
    await writer.post('/v1/entries', { plugin: aPlugin('io.acme/partial'), claims });
    const untranslated = async () =>
      ((await writer.get(`${path}/versions/1.0.0`)).json as { content: { untranslated?: unknown } }).content
        .untranslated;
    await storeContent(service, 'plugin', 'io.acme/partial', '1.0.0', {
      '.mcp.json': JSON.stringify({
        mcpServers: { good: { command: 'npx' }, home: { command: 'npx', args: ['${HOME}'] } },
      }),
    });
    expect(await untranslated()).toEqual([
      { file: '.mcp.json', server: 'home', reason: 'The other format has no ${HOME}' },
    ]);
    expect((await writer.delete(`${path}/versions/1.0.0`)).status).toBe(204);
  });

  it('is also a zip file with the same files', async () => {
    const json = (await service.as(TEAM).get(`${FILE}?source=archive`)).json as Listed;
    const { url = '' } = json.plugins.find(({ name }) => name === 'io-acme-claude')?.source ?? {};
    const base = 'https://registry.example.com';
    expect(url).toBe(`${base}/registry/main/x/marketplace/plugin/io.acme/claude/1.0.0.zip`);
    const { status, headers, bytes } = await service.as(TEAM).get(url.slice(base.length));
    expect([status, headers['content-type']]).toEqual([200, 'application/zip']);
    const zip = await fromBufferPromise(bytes, { lazyEntries: true });
    const names: string[] = [];
    for await (const entry of zip.eachEntry()) {
      names.push(`plugins/io-acme-claude/${entry.fileName}`);
      const content = await buffer(await zip.openReadStreamPromise(entry));
      expect(content).toEqual(readFileSync(join(clone, names.at(-1) ?? '')));
    }
    expect(names.join('\n')).toBe(await git.run(clone, 'ls-files', 'plugins/io-acme-claude'));
    const { etag } = headers;
    expect(
      (await service.as(TEAM).get(url.slice(base.length), { 'If-None-Match': String(etag) })).status,
    ).toBe(304);
    expectRefused(await service.as(TEAM).get(`${FILE}?source=npm`), 400, 'invalid_parameter');
  });

  it('has no zip file for callers who do not see it, in other versions, or without a marketplace', async () => {
    const at = (entry: string, registry = 'main') => `/registry/${registry}/x/marketplace/${entry}.zip`;
    expectRefused(await data().get(at('plugin/io.acme/claude/1.0.0')), 404, 'entry_not_found');
    expectRefused(await data().get(at('plugin/io.acme/empty/1.0.0')), 404, 'entry_not_found');
    expectRefused(await data().get(at('server/io.acme/review/1.0.0')), 404, 'entry_not_found');
    expectRefused(await data().get(at('plugin/io.acme/review/2.0.0')), 404, 'version_not_found');
    expectRefused(await data().get(at('plugin/io.acme/review/1.0.0', 'plain')), 404, 'marketplace_not_found');
    expect((await data().get(at('plugin/io.acme/review/1.0.0'))).status).toBe(200);
    expect((await data().get(at('skill/io.acme/greet/1.0.0'))).status).toBe(200);
  });
});

describe('a refusal', () => {
  it('is shown by git, and is plain text only under /git/', async () => {
    const forbidden = cloneAs({ sub: 'bob', org: 'contoso' });
    await expect(forbidden).rejects.toThrow("remote: You don't have access to this registry");
    const missing = cloneAs({ sub: 'ann', ...ACME }, '/registry/plain/git/marketplace.git');
    await expect(missing).rejects.toThrow('remote: This registry is not served as a marketplace');
    const refused = await service.as(CONTOSO_READER).get(referencesIn());
    expectRefused(refused, 403, 'registry_forbidden');
    expect(refused.headers['content-type']).toBe('text/plain; charset=utf-8');
    for (const path of [FILE, '/registry/main/git'])
      expect((await service.as(CONTOSO_READER).get(path)).headers['content-type']).toMatch(
        /^application\/json/,
      );
  });
});

describe('Basic authentication', () => {
  const basic = (user: string, password: string) => ({
    Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
  });
  const REFS = referencesIn();

  it('is offered in addition to Bearer, only under /git/', async () => {
    const challengeAt = async (path: string) => String((await service.get(path)).headers['www-authenticate']);
    expect(await challengeAt(REFS)).toMatch(/^Bearer realm="mcp-registry", .*, Basic realm="mcp-registry"/);
    expect(await challengeAt(FILE)).not.toContain('Basic');
    const refused = await service.get(REFS, basic('git', 'x.y.z'));
    expectRefused(refused, 401, 'token_invalid');
    expect(String(refused.headers['www-authenticate'])).toMatch(/error="invalid_token".*, Basic realm=/);
    expectRefused(await post(service, ''), 401, 'token_missing');
  });

  it('accepts a token as the password, only under /git/', async () => {
    const token = tokenOf(ACME_DATA);
    expect((await service.get(REFS, basic('anybody', token))).status).toBe(200);
    expectRefused(await service.get(REFS, basic(token, '')), 401, 'token_invalid');
    expectRefused(await service.get(FILE, basic('anybody', token)), 401, 'token_missing');
    expect((await service.get('/registry/open/x/marketplace.json', basic('x', 'y'))).status).toBe(200);
    expectRefused(
      await service.get(referencesIn('/registry/open/git/marketplace.git'), basic('x', 'y')),
      401,
      'token_invalid',
    );
  });
});

const PROTOCOL_2 = { 'Git-Protocol': 'version=2' };
const pkt = (text: string) => `${(text.length + 4).toString(16).padStart(4, '0')}${text}`;
const wanting = (object: string) => ({
  0: `${pkt(`want ${object} ofs-delta\n`)}0000${pkt('done\n')}`,
  2: `${pkt('command=fetch')}0001${pkt(`want ${object}\n`)}${pkt('done\n')}0000`,
});

function post(
  sender: Sender,
  body: string | Buffer,
  path = MAIN,
  headers: Record<string, string> = {},
): Promise<Reply> {
  return sender.post(`${path}/git-upload-pack`, body, {
    'Content-Type': 'application/x-git-upload-pack-request',
    ...headers,
  });
}

describe('the objects of another view', () => {
  it('are refused like unknown objects, in every protocol version', async () => {
    const other = await cloneAs(ACME_PLATFORM);
    expect(await headFor(data())).not.toBe(await headOf(other));
    const unknown = 'f'.repeat(40);
    const ids = ['HEAD', 'HEAD^{tree}', 'HEAD:plugins/io-acme-deploy', 'HEAD:plugins/io-acme-deploy/a/b.md'];
    for (const id of ids) {
      const object = await git.run(other, 'rev-parse', id);
      for (const version of [0, 2] as const) {
        const headers = version === 2 ? PROTOCOL_2 : undefined;
        const answer = async (by: Sender, wanted: string) => {
          const { status, text } = await post(by, wanting(wanted)[version], MAIN, headers);
          return { status, text: text.replaceAll(wanted, 'OBJECT') };
        };
        const refused = await answer(data(), object);
        expect(refused, id).toEqual(await answer(data(), unknown));
        expect(refused.text).toContain('not our ref OBJECT');
        // Only the tip is advertised; protocol 2 accepts every object in the repository.
        if (id === 'HEAD' || version === 2) expect((await answer(platform(), object)).text).toContain('PACK');
      }
    }
  });

  it('are not served as repository files, which do not exist', async () => {
    const head = await headFor(data());
    for (const path of [
      '',
      '/HEAD',
      '/config',
      '/info/refs',
      '/info/refs?service=git-receive-pack',
      '/objects/info/packs',
      `/objects/${head.slice(0, 2)}/${head.slice(2)}`,
      '/refs/heads/main',
    ])
      expectRefused(await data().get(MAIN + path), 404, 'route_not_found');
    expect((await data().post(`${MAIN}/git-receive-pack`, '')).status).toBe(501);
  });
});

describe('equal views', () => {
  let replica: ServiceUnderTest;
  beforeAll(async () => {
    replica = service.replica();
    await replica.start();
  });
  afterAll(() => replica.stop());

  it('have equal commits for all callers and on every replica', async () => {
    expect(await headFor(replica.as({ ...ACME_DATA, sub: 'someone-else' }))).toBe(await headFor(data()));
    expect(await headFor(replica.as(ACME_PLATFORM))).toBe(await headFor(platform()));
    expect(await headFor(platform())).not.toBe(await headFor(data()));
  });
});

describe('after a change', () => {
  const publish = (version: string) =>
    service
      .as(ACME_WRITER)
      .post('/v1/entries', { plugin: aPlugin('io.acme/tool', version), claims: PLATFORM });
  const update = async (clone: string) => {
    await git.run(clone, 'fetch', '--quiet', 'origin');
    await git.run(clone, 'reset', '--quiet', '--hard', 'origin/main');
  };
  const toolIn = (clone: string) => {
    const file = join(clone, 'plugins/io-acme-tool/tool.md');
    return existsSync(file) ? readFileSync(file, 'utf8') : null;
  };

  it('a fetch gets what was added, changed and withdrawn', async () => {
    const clone = await cloneAs(ACME_PLATFORM);
    expect(toolIn(clone)).toBeNull();
    await publish('1.0.0');
    await update(clone);
    expect(toolIn(clone), 'no content yet').toBeNull();
    await storeContent(service, 'plugin', 'io.acme/tool', '1.0.0', { 'tool.md': 'One' });
    await update(clone);
    expect(toolIn(clone)).toBe('One');
    await publish('2.0.0');
    await storeContent(service, 'plugin', 'io.acme/tool', '2.0.0', { 'tool.md': 'Two' });
    await update(clone);
    expect(toolIn(clone)).toBe('Two');
    const withdrawn = await headOf(clone);
    for (const version of ['2.0.0', '1.0.0'])
      await service.as(ACME_WRITER).delete(`/v1/entries/plugin/io.acme%2Ftool/versions/${version}`);
    await update(clone);
    expect(toolIn(clone)).toBeNull();
    expect((await post(platform(), wanting(withdrawn)[2], MAIN, PROTOCOL_2)).text).toContain('not our ref');
  });

  it('a caller whose access was withdrawn cannot continue a clone', async () => {
    const head = await headFor(data());
    expect((await post(data(), wanting(head)[0])).text).toContain('PACK');
    await gate(PLATFORM);
    expectRefused(await post(data(), wanting(head)[0]), 403, 'registry_forbidden');
    await gate(ACME);
    expect((await post(data(), wanting(head)[0])).text).toContain('PACK');
  });
});

describe('a marketplace with more than 100,000 files, or 16 MiB of paths', () => {
  const HUGE = { ...ACME, team: 'huge' };
  const addFiles = (count: number, folder: string) =>
    service.database.query(
      `insert into content_file (tree, path, blob, is_executable)
       select f.tree, $2 || g, f.blob, false from generate_series(1, $1::int) g,
         (select * from content_file where path = 'huge.md') f on conflict do nothing`,
      [count, folder],
    );

  it('has a file, but no repository', async () => {
    await storeContent(service, 'plugin', 'io.acme/huge', '1.0.0', { 'huge.md': 'x' });
    const references = referencesIn();
    const longPaths = [35_000, `${'x'.repeat(495)}/`] as const;
    for (const [count, below] of inSoak([longPaths, [100_000, 'more/'] as const], [longPaths])) {
      await addFiles(count, below);
      expect(pluginsIn(await service.as(HUGE).get(FILE))).toContain('io-acme-huge@1.0.0');
      expectRefused(await service.as(HUGE).get(references), 507, 'marketplace_too_large');
      await service.database.query(`delete from content_file where path like $1`, [`${below}%`]);
    }
    expect((await data().get(references)).status).toBe(200);
  });
});

describe('a marketplace with more than 10,000 plugins', () => {
  const MANY = { ...ACME, team: 'many' };
  const add = (from: number, to: number) =>
    service.database.query(
      `with added as (
         insert into entry (source_id, type, name, claim_set_id)
         select source_id, type, name || '-' || n, claim_set_id from entry, generate_series($1::int, $2::int) n
         where name = 'io.acme/many' returning id
       ), versions as (
         insert into entry_version (entry_id, version, version_key, document, digest, status, status_changed_at,
           published_at, updated_at, is_latest, search)
         select a.id, v.version, v.version_key, v.document, v.digest, v.status, now(), now(), now(), true, v.search
         from added a, entry_version v join entry e on e.id = v.entry_id where e.name = 'io.acme/many' returning id
       )
       insert into version_content (version_id, tree)
       select n.id, c.tree from versions n, version_content c join entry_version v on v.id = c.version_id
         join entry e on e.id = v.entry_id where e.name = 'io.acme/many'`,
      [from, to],
    );
  const bump = () => service.database.query(`update source set revision = revision + 1 where name = 'many'`);

  it('is refused, and others are served', async () => {
    await storeContent(service, 'plugin', 'io.acme/many', '1.0.0', { 'many.md': 'x' });
    const already = pluginsIn(await service.as(MANY).get(FILE)).length;
    await add(already + 1, 10_000);
    await bump();
    expect(pluginsIn(await service.as(MANY).get(FILE))).toHaveLength(10_000);
    await add(10_001, 10_001);
    await bump();
    const references = referencesIn();
    const config = '/registry/main/x/client-config?client=codex&form=plugins';
    for (const path of [FILE, references, config])
      expectRefused(await service.as(MANY).get(path), 507, 'marketplace_too_large');
    expect((await data().get(references)).status).toBe(200);
    await service.database.query(`delete from entry where name like 'io.acme/many-%'`);
    await bump();
  });
});

describe('a marketplace with more than 4 MiB of manifests', () => {
  const LONG = { ...ACME, team: 'long' };
  const PLACES = ['.claude-plugin', '.codex-plugin', '.cursor-plugin', '.github/plugin', '.plugin'].map(
    (folder) => `${folder}/plugin.json`,
  );

  it('has a repository in which the longest manifests are replaced', async () => {
    for (const index of [0, 1, 2]) {
      const manifest = JSON.stringify({ x: `${index}`.repeat(256 * 1_024 - 8) });
      await storeContent(service, 'plugin', `io.acme/long-${index}`, '1.0.0', {
        ...Object.fromEntries(PLACES.map((path) => [path, manifest])),
        'README.md': `${index}`,
        'plugin.json': manifest,
      });
    }
    expect(pluginsIn(await service.as(LONG).get(FILE))).toContain('io-acme-long-2@1.0.0');
    const clone = await cloneAs({ ...LONG, sub: 'lou' });
    const manifestOf = (name: string, path: string) =>
      JSON.parse(readFileSync(join(clone, 'plugins', name, path), 'utf8')) as Record<string, unknown>;
    for (const path of [...PLACES, 'plugin.json']) {
      for (const index of [0, 1]) expect(manifestOf(`io-acme-long-${index}`, path)).toHaveProperty('x');
      expect(manifestOf('io-acme-long-2', path)).not.toHaveProperty('x');
      expect(manifestOf('io-acme-long-2', path)).toMatchObject({ name: 'io-acme-long-2', version: '1.0.0' });
    }
    expect(manifestOf('io-acme-review', MANIFEST)).toMatchObject({ author: { name: 'Ann' } });
  });
});

describe('clients that read slowly', () => {
  const clock = new Clock().runs();
  const SLOW = { ...ACME, team: 'slow' };
  const clients: ClientRequest[] = [];
  const answers: IncomingMessage[] = [];
  afterAll(() => clients.forEach((client) => client.destroy()));

  /** Requests the repository and reads only the head of the response; resolves to its status. */
  function begin(head: string): Promise<number> {
    const headers = {
      Authorization: `Bearer ${tokenOf({ ...SLOW, sub: 'slow' })}`,
      'Content-Type': 'application/x-git-upload-pack-request',
    };
    const url = `${service.origin}${MAIN}/git-upload-pack`;
    return new Promise((resolve, reject) => {
      const client = request(url, { method: 'POST', headers, agent: false }, (response) => {
        answers.push(response);
        resolve(response.statusCode ?? 0);
      });
      clients.push(client.on('error', reject));
      client.end(wanting(head)[0]);
    });
  }

  const ending = (answer: IncomingMessage | undefined) =>
    new Promise((resolve) => {
      answer?.on('end', () => resolve('complete')).on('error', () => resolve('cut off'));
      answer?.resume();
    });

  it('delay only themselves, and get 429 for more than 32 requests', async () => {
    const large = randomBytes(24 * 1_024 * 1_024);
    await storeContent(service, 'plugin', 'io.acme/slow', '1.0.0', { 'large.bin': large });
    const head = await headFor(service.as(SLOW));
    const slow = Array.from({ length: 16 }, () => begin(head));
    expect(await Promise.all(slow)).toEqual(slow.map(() => 200));
    const waiting = Array.from({ length: 17 }, () => begin(head).catch(() => 0));
    expect(await Promise.race(waiting)).toBe(429);
    expect(existsSync(join(await cloneAs(ACME_DATA), 'plugins/io-acme-review'))).toBe(true);
  });

  it('are cut off once their access is withdrawn', async () => {
    const [first, second] = answers;
    expect(await ending(first)).toBe('complete');
    clock.passes(1_100);
    await gate(PLATFORM);
    expect(await ending(second)).toBe('cut off');
    await gate(ACME);
  });

  const slowly = (path: string, headers = {}) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const client = request(service.origin + path, { agent: false, headers }, resolve);
      clients.push(client.on('error', reject));
      client.end();
    });

  it.each(['content', 'marketplace'])(
    'of a zip file of the %s are cut off once registry or plugin is withdrawn',
    async (folder) => {
      clients.splice(0).forEach((client) => client.destroy());
      const path = `/registry/main/x/${folder}/plugin/io.acme/slow/1.0.0.zip`;
      const headers = { Authorization: `Bearer ${tokenOf({ ...SLOW, sub: 'slow' })}` };
      const [first, second, third] = await Promise.all([1, 2, 3].map(() => slowly(path, headers)));
      expect([first, second, third].map((answer) => answer?.statusCode)).toEqual([200, 200, 200]);
      expect(await ending(first)).toBe('complete');
      await gate(PLATFORM);
      clock.passes(1_100);
      expect(await ending(second)).toBe('cut off');
      await gate(ACME);
      const block = '/v1/blocks/slow';
      const admin = service.as(SUPER_ADMIN);
      expect((await admin.put(block, { names: ['io.acme/slow'], reason: 'SEC-1' })).status).toBe(201);
      clock.passes(1_100);
      expect(await ending(third)).toBe('cut off');
      expect((await admin.delete(block)).status).toBe(204);
    },
  );

  it('are cut off once their key is withdrawn', async () => {
    const slow = `/registry/keyed/k/${slowKey}/x/content/plugin/io.acme/slow/1.0.0.zip`;
    const [first, second, third] = await Promise.all([slowly(slow), slowly(slow), slowly(slow)]);
    expect([first, second, third].map(({ statusCode }) => statusCode)).toEqual([200, 200, 200]);
    expect(await ending(first)).toBe('complete');
    clock.passes(1_100);
    expect(await ending(second)).toBe('complete');
    await service.reload((declared) => declared.registry('keyed', { sources: ['slow'] }));
    expect(await ending(third)).toBe('cut off');
  });
});

describe('a Git request', () => {
  it('has at most 1 MiB when inflated, and the media type of the protocol', async () => {
    const command = `${pkt('command=ls-refs\n')}00010000`;
    for (const [body, headers] of [
      [command, {}],
      [gzipSync(command), { 'Content-Encoding': 'gzip' }],
    ] as const) {
      const reply = await post(data(), body, MAIN, { ...PROTOCOL_2, ...headers });
      expect(reply.status).toBe(200);
      expect(reply.headers['content-type']).toBe('application/x-git-upload-pack-result');
      expect(reply.text).toContain('refs/heads/main');
    }
    const long = Buffer.alloc(1_024 * 1_024 + 1, '0');
    expectRefused(await post(data(), long), 413, 'body_too_large');
    expectRefused(
      await post(data(), gzipSync(long), MAIN, { 'Content-Encoding': 'gzip' }),
      413,
      'body_too_large',
    );
    expectRefused(
      await data().post(`${MAIN}/git-upload-pack`, command, { 'Content-Type': 'application/json' }),
      415,
      'unsupported_media_type',
    );
  });
});
