import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { decide, itemsFor, served, shortly } from '../support/admission.js';
import { SUPER_ADMIN } from '../support/callers.js';
import { aServer, aSkill } from '../support/documents.js';
import { call, type Sender } from '../support/http.js';
import { expectRefused } from '../support/matchers.js';
import { aService } from '../support/service.js';

const ACME = { sub: 'ada', org: 'acme' };
const PLATFORM = { sub: 'pia', org: 'acme', team: 'platform' };
const WRITER = { ...PLATFORM, role: 'writer' };

const at = (host: string) => ({ remotes: [{ type: 'streamable-http', url: `https://${host}.example/mcp` }] });
const MANY = Array.from({ length: 300 }, (_, index) => `many-${String(index).padStart(3, '0')}`);

const service = aService({ mode: 'full' })
  .source('first', {
    claims: { org: 'acme' },
    servers: [
      aServer('com.evil/shadowed', '1.0.0', at('first')),
      aServer('io.acme/good', '1.0.0', at('good')),
    ],
  })
  .source('second', {
    claims: { org: 'acme' },
    servers: [
      aServer('com.evil/a', '1.0.0', at('a1')),
      aServer('com.evil/a', '2.0.0', at('a2')),
      aServer('com.evil/listed', '1.0.0', at('good')),
      aServer('com.evil/shadowed', '2.0.0', at('second')),
    ],
  })
  .source('reviewed', {
    claims: { org: 'acme' },
    servers: [aServer('com.evil/waiting', '1.0.0', at('waiting'))],
    admission: { rules: [{ names: ['*'], action: 'hold' }] },
  })
  .source('many', {
    claims: { org: 'acme' },
    servers: MANY.map((name) => aServer(`com.many/${name}`, '1.0.0', at(name))),
  })
  .source('published', { kind: 'managed' })
  .registry('main', { sources: ['first', 'second', 'reviewed', 'published'], claims: { org: 'acme' } })
  .registry('many', { sources: ['many'], claims: { org: 'acme' } })
  .runs();

const admin = () => service.as(SUPER_ADMIN);
const block = async (names: string[], more: object = {}) => {
  expect((await admin().put('/v1/blocks/test', { names, reason: 'SEC-12', ...more })).status).toBe(201);
};

/** The hosts in a deny-list. */
async function denied(sender: Sender, registry = 'main', form = 'denylist'): Promise<string[]> {
  const query = `client=copilot&form=${form}`;
  const reply = await sender.get(`/registry/${registry}/v0.1/x/client-config?${query}`);
  const { deniedMcpServers } = reply.json as { deniedMcpServers: { serverUrl: string }[] };
  return deniedMcpServers.map(({ serverUrl }) => new URL(serverUrl).hostname.replace('.example', ''));
}

afterEach(async () => {
  await admin().delete('/v1/blocks/test');
});

it('a deny-list contains blocked versions that the caller would otherwise see', async () => {
  expect(await denied(service.as(ACME))).toEqual([]);
  await block(['com.evil/*'], { versions: '>=2' });
  // The first source still shows the name, which the second source also has.
  for (const form of ['denylist', 'managed'])
    expect(await denied(service.as(ACME), 'main', form)).toEqual(['a2']);
  await admin().delete('/v1/blocks/test');
  expect(await denied(service.as(ACME))).toEqual([]);
  await block(['com.evil/*']);
  // The list omits versions that are also held for review, and connections of listed servers.
  for (const caller of [ACME, PLATFORM, SUPER_ADMIN])
    expect(await denied(service.as(caller))).toEqual(['a2', 'a1', 'first']);
  expect((await itemsFor(admin(), '?name=com.evil%2Fwaiting')).length).toBe(1);
});

it('a deny-list contains nothing that the claims of the entry hide', async () => {
  const server = aServer('io.platform/tool', '1.0.0', at('tool'));
  const claims = { org: 'acme', team: 'platform' };
  expect((await service.as(WRITER).post('/v1/entries', { server, claims })).status).toBe(201);
  const before = await denied(service.as(ACME));
  await block(['io.platform/*']);
  expect(await denied(service.as(PLATFORM))).toEqual(['tool']);
  expect(await denied(admin())).toEqual(['tool']);
  expect(await denied(service.as(ACME))).toEqual(before);
  expect(await denied(service.as(ACME))).toEqual([]);
});

it('reads any number of blocked versions, page by page', async () => {
  await block(['com.many/*']);
  expect(await denied(service.as(ACME), 'many')).toEqual(MANY);
  const { json } = await service.as(ACME).get('/registry/many/v0.1/servers');
  expect(json).toMatchObject({ servers: [] });
});

describe('a deny-list, once the source has dropped a blocked version', () => {
  const padded = (version: string, name = 'io.acme/pad', more: object = {}) =>
    aServer(name, version, {
      packages: [
        {
          ...{ registryType: 'npm', identifier: 'left-pad-mcp', version, runtimeHint: 'npx' },
          transport: { type: 'stdio' },
        },
      ],
      ...more,
    });
  const evil = { servers: [padded('1.3.2')], skills: [aSkill('io.acme/evil')] };
  const dropping = aService({ mode: 'full' })
    .source('upstream', { claims: { org: 'acme', team: 'red' }, ...evil })
    .registry('main', { sources: ['upstream'], marketplace: { name: 'acme', owner: 'Acme' } })
    .runs();
  const [RED, BLUE] = [
    { sub: 'rob', org: 'acme', team: 'red' },
    { sub: 'bea', org: 'acme', team: 'blue' },
  ];
  const BLOCK = '/v1/blocks/sec-14';
  const RULE = {
    names: ['io.acme/pad', 'io.acme/evil'],
    versions: '1.3.2 || 1.0.0',
    reason: 'SEC-14',
  };
  const EVIL = ['npx left-pad-mcp@1.3.2', 'io-acme-evil@acme'];
  const root = () => dropping.as(SUPER_ADMIN);
  const put = async (id = BLOCK, rule: object = RULE) =>
    expect((await root().put(id, rule)).status).toBeLessThan(300);
  const rewrite = async (...versions: object[]) => {
    await dropping.rewrite('upstream', {
      servers: [padded('1.0.1', 'io.acme/other'), ...versions] as never,
      skills: [],
    });
    expect(await dropping.synced('upstream')).toMatchObject({ status: 'complete' });
  };

  /** The commands and plugins that a client must refuse, the same in every form. */
  async function refused(claims: object): Promise<string[]> {
    const of = async (client: string, form: string) =>
      (await dropping.as(claims as never).get(`/registry/main/x/client-config?client=${client}&form=${form}`))
        .json as {
        deniedMcpServers: { serverCommand: string[] }[];
        enabledPlugins?: object;
      };
    const lists = [];
    for (const client of ['vscode', 'copilot', 'claude-code']) {
      const [denylist, managed] = [await of(client, 'denylist'), await of(client, 'managed')];
      expect(managed.deniedMcpServers).toEqual(denylist.deniedMcpServers);
      const commands = denylist.deniedMcpServers.map(({ serverCommand }) =>
        serverCommand.filter((argument) => argument !== '-y').join(' '),
      );
      lists.push([...commands, ...Object.keys(managed.enabledPlugins ?? {})]);
    }
    expect(new Set(lists.map(String)).size).toBe(1);
    return lists[0] ?? [];
  }

  beforeEach(async () => {
    for (const id of [BLOCK, `${BLOCK}-b`]) await root().delete(id);
    await dropping.reload((edited) =>
      edited.source('upstream', { claims: { org: 'acme', team: 'red' }, ...evil }),
    );
    await dropping.rewrite('upstream', evil);
    await dropping.synced('upstream');
    await put();
    expect(await refused(RED)).toEqual(EVIL);
  });

  const REPLACEMENTS: [what: string, versions: object[], then: string[]][] = [
    ['removed', [], []],
    ['replaced by a clean version', [padded('1.3.0')], ['io.acme/pad@1.3.0']],
  ];
  it.each(REPLACEMENTS)('still names it when %s, until the block is deleted', async (_, versions, then) => {
    const before = await itemsFor(root());
    expect(shortly(before)).toEqual(['io.acme/evil@1.0.0: block', 'io.acme/pad@1.3.2: block']);
    await rewrite(...versions);
    await rewrite(...versions, padded('1.0.1', 'io.acme/another'));
    expect(await refused(RED)).toEqual(EVIL);
    expect(await refused(BLUE)).toEqual([]);
    const clean = ['io.acme/another@1.0.1', 'io.acme/other@1.0.1', ...then];
    expect(await served(dropping.as(RED))).toEqual(clean);
    // What the upstream removes is no longer under review.
    expect(await itemsFor(root())).toEqual([]);
    for (const item of before) expectRefused(await decide(root(), item, 'approve'), 404, 'item_not_found');
    expect((await dropping.synced('upstream')).counts).toMatchObject({ held: 0 });
    const metrics = async () => (await call(`${dropping.internalOrigin}/metrics`)).text;
    await expect.poll(metrics).toContain('registry_admission_held_items{source="upstream",kind="file"} 0');
    // Another block holds it too, and then is the last one.
    await put(`${BLOCK}-b`);
    await root().delete(BLOCK);
    expect(await refused(RED)).toEqual(EVIL);
    await put(`${BLOCK}-b`, { ...RULE, versions: '2' });
    expect(await served(dropping.as(RED))).toEqual(clean);
    expect(await itemsFor(root())).toEqual([]);
    expect((await refused(RED)).filter((name) => name.includes('left-pad'))).toEqual([]);
  });

  it('still names its document when a clean one has the same version, which is served', async () => {
    await put(BLOCK, {
      packages: [{ registryType: 'npm', identifier: 'left-pad-*', version: '1.3.2' }],
      reason: 'SEC-14',
    });
    const clean = padded('1.3.2', 'io.acme/pad', { packages: [], ...at('clean') });
    await rewrite(clean);
    expect(await refused(RED)).toContain('npx left-pad-mcp@1.3.2');
    expect(await served(dropping.as(RED))).toContain('io.acme/pad@1.3.2');
    await root().delete(BLOCK);
    const { json } = await dropping.as(RED).get('/registry/main/v0.1/servers?search=pad');
    expect(JSON.stringify(json)).toContain('clean.example');
    expect(JSON.stringify(json)).not.toContain('left-pad-mcp@1.3.2');
    expect(await refused(RED)).not.toContain('npx left-pad-mcp@1.3.2');
  });

  it('treats a version that returns like one that was not dropped', async () => {
    await rewrite();
    await rewrite(padded('1.3.2'));
    expect(shortly(await itemsFor(root(), '?type=server'))).toEqual(['io.acme/pad@1.3.2: block']);
    expect(await refused(RED)).toEqual(EVIL);
    await root().delete(BLOCK);
    expect(await served(dropping.as(RED))).toContain('io.acme/pad@1.3.2');
  });

  it('no longer names it once the claims of the source change', async () => {
    await rewrite();
    await dropping.reload((edited) =>
      edited.source('upstream', { claims: { org: 'acme', team: 'blue' }, servers: [] as never }),
    );
    await rewrite(padded('1.0.1', 'io.acme/another'));
    for (const caller of [BLUE, RED])
      expect((await refused(caller)).filter((name) => name.includes('left-pad'))).toEqual([]);
    expect(await itemsFor(root())).toEqual([]);
  });
});
