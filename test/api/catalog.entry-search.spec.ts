import { beforeAll, describe, expect, it } from 'vitest';
import { CLIENTS } from '../../src/client-config/clients.js';
import { eventsOf } from '../support/audit.js';
import { SUPER_ADMIN } from '../support/callers.js';
import { aServer, aSkill, type Document } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import type { Reply, Sender } from '../support/http.js';
import { expectRefused } from '../support/matchers.js';
import { aKey } from '../support/registry-keys.js';
import { aService } from '../support/service.js';
import { storeContent } from '../support/stored-content.js';

const ACME = { sub: 'ada', org: 'acme' };
const PLATFORM = { sub: 'pia', org: 'acme', team: 'platform' };
const OUTSIDER = { sub: 'olaf', org: 'other' };

const published = (tags: string[], metadata: Document = {}, more: Document = {}) => ({
  _meta: {
    'io.modelcontextprotocol.registry/publisher-provided': {
      'io.acme': { image: { tags, metadata, ...more } },
    },
  },
});
const remote = (type = 'streamable-http') => ({ remotes: [{ type, url: 'https://mcp.acme.example/mcp' }] });
const many = Array.from({ length: 25 }, (_, index) => `tag-${String(index).padStart(2, '0')}`);

const folder = aFolder();
const key = aKey();
folder.write('key', key);

const service = aService({ mode: 'full' })
  .source('open', {
    claims: { org: 'acme' },
    servers: [
      aServer('io.acme/github', '1.0.0', { ...remote(), title: 'Hub', ...published(['git', 'shared']) }),
      aServer('io.acme/github-extra', '1.0.0', { description: 'More', ...remote('sse') }),
      aServer('io.acme/mygithub', '1.0.0', { description: 'Inside' }),
      aServer('io.acme/other', '1.0.0', {
        description: 'By tag',
        ...published(['GitHub', ...many], { stars: 17 }, { tier: 'Official' }),
      }),
      aServer('io.zeta/dated', '1.0.0', {
        description: 'Dated',
        ...published(['shared'], { last_updated: '2020-02-03T04:05:06Z' }),
      }),
      aServer('io.zeta/dated', '0.9.0', { description: 'Old', ...published(['old']) }),
      aServer('io.zeta/shadowed', '1.0.0', { description: 'Of everyone', ...published(['everyone']) }),
    ],
    skills: [aSkill('io.acme/review', '1.0.0', published(['shared']))],
  })
  .source('secret', {
    claims: { org: 'acme', team: 'platform' },
    servers: [
      aServer('io.acme/github-secret', '1.0.0', { ...remote(), ...published(['shared', 'hidden']) }),
      aServer('io.zeta/shadowed', '9.0.0', { description: 'Of the team', ...published(['team']) }),
    ],
    skills: [aSkill('io.acme/hidden-skill')],
  })
  .registry('main', { sources: ['secret', 'open'], claims: { org: 'acme' } })
  .registry('ide', {
    sources: ['secret', 'open'],
    claims: { org: 'acme' },
    anonymous: { claims: { org: 'acme' } },
    keys: [{ name: 'ci', secretFile: folder.file('key'), claims: { org: 'acme', team: 'platform' } }],
  })
  .configuration({ rootRegistry: 'ide', audit: { reads: true } })
  .runs();

interface Item {
  type: string;
  name: string;
  updatedAt: string;
  installable: boolean;
}
interface Result {
  items: Item[];
  facets: Record<'type' | 'tag' | 'transport', Record<string, number>>;
  metadata: { count: number; nextCursor?: string };
}

const ask = (query: string, sender: Sender = service.as(ACME), below = 'main/v0.1') =>
  sender.get(`/registry/${below}/x/search?${query}`);
function resultOf(reply: Reply): Result {
  expect(reply.status).toBe(200);
  return reply.json as unknown as Result;
}
const find = async (query: string, sender?: Sender, below?: string) =>
  resultOf(await ask(query, sender, below));
const namesIn = ({ items }: Result) => items.map(({ name }) => name.slice(3));

describe('GET /x/search', () => {
  it.each([
    ['q=github', ['acme/github', 'acme/github-extra', 'acme/mygithub', 'acme/other']],
    ['q=IO.acme/GitHub-extra', ['acme/github-extra']],
    ['q=github+inside', ['acme/mygithub']],
    ['q=git+everyone', []],
    ['q=tag-24', ['acme/other']],
    ['q=hidden', []],
    ['q=%25', []],
    ['type=skill', ['acme/review']],
    ['type=plugin', []],
    ['tag=GitHub', ['acme/other']],
    ['tag=github', []],
    ['tag=old', []],
    ['transport=sse', ['acme/github-extra']],
    ['publisher=io.zeta', ['zeta/dated', 'zeta/shadowed']],
    ['publisher=io', []],
    ['installable=true', ['acme/github', 'acme/github-extra']],
    ['installable=false&publisher=io.zeta', ['zeta/dated', 'zeta/shadowed']],
    ['q=&type=&sort=&limit=&tag=&unknown=1&publisher=io.zeta', ['zeta/dated', 'zeta/shadowed']],
    ['q=github&sort=name&installable=true', ['acme/github', 'acme/github-extra']],
  ])('finds %s in order', async (query, names) => {
    const found = await find(query);
    expect(namesIn(found)).toEqual(names);
    expect(found.metadata).toEqual({ count: names.length });
  });

  it('shows with `details` why an entry was found, what can run it, and what its publisher states', async () => {
    const shared = (await find('q=github+tag&details=true')).items;
    expect(shared).toMatchObject([
      {
        matched: [
          { in: 'tag', text: 'GitHub' },
          { in: 'tag', text: 'tag-00' },
        ],
        tier: 'Official',
        stars: 17,
      },
    ]);
    const { items } = await find('q=github&details=true');
    expect(items[0]).toMatchObject({ clients: [...CLIENTS, 'toolhive'] });
    expect(items[0]).not.toHaveProperty('matched');
    // Codex has no HTTP+SSE.
    expect(items[1]).toMatchObject({
      clients: [...CLIENTS.filter((client) => client !== 'codex'), 'toolhive'],
    });
    expect(items[2]).not.toHaveProperty('clients');
    const plain = (await find('q=github')).items[3];
    expect(plain).not.toHaveProperty('tier');
    expect(plain).not.toHaveProperty('relevance');
  });

  it('corrects a word if nothing is found, and reports the correction on every page', async () => {
    const first = await find('q=githbu&limit=1');
    expect(namesIn(first)).toEqual(['acme/github']);
    expect(first.metadata).toMatchObject({ corrected: ['github'] });
    const rest = await find(`limit=9&cursor=${first.metadata.nextCursor}`);
    expect(namesIn(rest)).toEqual(['acme/github-extra', 'acme/other']);
    expect(rest.metadata).toEqual({ count: 2, corrected: ['github'] });
    // Words of hidden entries are not used for corrections.
    expect((await find('q=secrett')).metadata).toEqual({ count: 0 });
    expect((await find('q=secrett', service.as(PLATFORM))).metadata).toEqual({
      count: 1,
      corrected: ['secret'],
    });
  });

  it('finds entries with only some of the words with `partial`, if none has all, and reports it on every page', async () => {
    expect((await find('q=github+absent')).metadata).toEqual({ count: 0 });
    expect((await find('q=github+extra&partial=true')).metadata).toEqual({ count: 1 });
    const first = await find('q=absent+more+github&partial=true&limit=1');
    expect(namesIn(first)).toEqual(['acme/github-extra']);
    expect(first.metadata).toMatchObject({ partial: true });
    const rest = await find(`limit=9&cursor=${first.metadata.nextCursor}`);
    expect(namesIn(rest)).toEqual(['acme/github', 'acme/mygithub', 'acme/other']);
    expect(rest.metadata).toEqual({ count: 3, partial: true });
    // Neither words of hidden entries nor short words find anything; misspelled ones do.
    expect((await find('q=secret+gi&partial=true')).metadata).toEqual({ count: 0 });
    expect((await find('q=secrett+absent&partial=true', service.as(PLATFORM))).metadata).toEqual({
      count: 1,
      corrected: ['secret', 'absent'],
      partial: true,
    });
  });

  it('shows the latest version as an item', async () => {
    const { items } = await find('q=hub');
    expect(items[0]).toEqual({
      type: 'server',
      name: 'io.acme/github',
      title: 'Hub',
      description: 'The server io.acme/github',
      version: '1.0.0',
      status: 'active',
      tags: ['git', 'shared'],
      transports: ['streamable-http'],
      installable: true,
      updatedAt: expect.stringMatching(/^\d{4}-.*Z$/),
    });
  });

  it('uses and sorts by the date of the document', async () => {
    const { items } = await find('sort=updated');
    expect(items.at(-1)).toMatchObject({ name: 'io.zeta/dated', updatedAt: '2020-02-03T04:05:06.000Z' });
    const times = items.map(({ updatedAt }) => updatedAt);
    expect(times).toEqual([...times].sort().reverse());
  });

  it("counts the caller's whole result, without hidden entries, and shows the 20 largest counts", async () => {
    const { facets } = await find('limit=1');
    expect(facets.type).toEqual({ server: 6, skill: 1 });
    expect(facets.transport).toEqual({ 'streamable-http': 1, sse: 1 });
    expect(Object.keys(facets.tag)).toHaveLength(20);
    expect(facets.tag).toMatchObject({ shared: 3 });
    const zeta = await find('publisher=io.zeta');
    expect(zeta.facets.tag).toEqual({ shared: 1, everyone: 1 });
    const more = await find('limit=1', service.as(PLATFORM));
    expect(more.facets.type).toEqual({ server: 7, skill: 2 });
    expect(more.facets.tag).toMatchObject({ shared: 4 });
    expect((await find('publisher=io.zeta', service.as(PLATFORM))).facets.tag).toEqual({
      shared: 1,
      team: 1,
    });
  });

  it.each(['relevance', 'updated', 'name'])(
    'pages by %s with a cursor that carries the query',
    async (sort) => {
      const whole = namesIn(await find(`sort=${sort}`));
      const names: string[] = [];
      const facets = new Set<string>();
      for (let query = `sort=${sort}&limit=2`; ;) {
        const page = await find(query);
        names.push(...namesIn(page));
        facets.add(JSON.stringify(page.facets));
        const { nextCursor } = page.metadata;
        if (nextCursor === undefined) break;
        expect(nextCursor).toMatch(/^[A-Za-z0-9_-]+$/);
        query = `cursor=${nextCursor}&q=nothing&sort=name`;
      }
      expect(names).toEqual(whole);
      expect(whole).toHaveLength(7);
      expect(facets.size).toBe(1);
    },
  );

  it.each([
    ['type=bundle', 'invalid_parameter'],
    ['sort=newest', 'invalid_parameter'],
    ['installable=maybe', 'invalid_parameter'],
    ['limit=101', 'invalid_parameter'],
    ['q=%00', 'invalid_parameter'],
    ['contains=left-pad', 'invalid_parameter'],
    ['contains=unreadable:hooks.json', 'invalid_parameter'],
    ['cursor=abc', 'invalid_cursor'],
  ])('refuses %s', async (query, code) => {
    expectRefused(await ask(query), 400, code);
  });

  it('takes 20 different words, and refuses more', async () => {
    const words = Array.from({ length: 20 }, (_, word) => `word${word}`);
    expect((await ask(`q=${[...words, ...words].join('+')}`)).status).toBe(200);
    expectRefused(await ask(`q=${[...words, 'more'].join('+')}`), 400, 'invalid_parameter');
  });

  it('refuses a cursor from another list', async () => {
    const list = await service.as(ACME).get('/registry/main/v0.1/servers?limit=1');
    const { metadata } = list.json as unknown as Result;
    expectRefused(await ask(`cursor=${metadata.nextCursor ?? ''}`), 400, 'invalid_cursor');
    const own = await find('limit=1');
    expect((await ask(`cursor=${own.metadata.nextCursor ?? ''}`)).status).toBe(200);
  });

  it('applies the gate, anonymous claims and keys under every version of the path', async () => {
    expectRefused(await ask('q=github', service.as(OUTSIDER)), 403, 'registry_forbidden');
    expectRefused(await ask('q=github', service.as(ACME), 'nowhere'), 404, 'registry_not_found');
    expect((await ask('q=github', service)).status).toBe(401);
    for (const below of ['ide', 'ide/v0', 'ide/v0.1'])
      expect(namesIn(await find('q=io.acme/github-', service, below))).toEqual(['acme/github-extra']);
    expect(namesIn(await find('q=io.acme/github-', service, `ide/k/${key}/v0.1`))).toEqual([
      'acme/github-secret',
      'acme/github-extra',
    ]);
    expectRefused(await ask('', service, `ide/k/${aKey()}`), 404, 'registry_not_found');
  });

  it('returns 304 for its ETag, for this caller only', async () => {
    const first = await ask('q=github');
    expect(first.headers).toMatchObject({
      vary: expect.stringContaining('Authorization'),
      'cache-control': 'private, no-cache',
    });
    const again = { 'If-None-Match': String(first.headers['etag']) };
    const path = '/registry/main/v0.1/x/search?q=github';
    expect((await service.as(ACME).get(path, again)).status).toBe(304);
    expect((await service.as(PLATFORM).get(path, again)).status).toBe(200);
  });

  it('is audited as a read', async () => {
    const [event] = await eventsOf(service.as(SUPER_ADMIN), await ask('q=audited'), 'target=main');
    expect(event).toMatchObject({ action: 'catalog.read', outcome: 'allowed', target: { name: 'main' } });
  });
});

describe('contains', () => {
  beforeAll(async () => {
    const files = {
      '.mcp.json': JSON.stringify({
        pad: { command: 'npx', args: ['Left-Pad@1'] },
        tool: { command: 'uvx', args: ['acme_tool'] },
        image: { command: 'docker', args: ['run', 'ghcr.io/acme/mcp:1'] },
        far: { url: 'https://mcp.acme.example/mcp/v1' },
      }),
      'hooks.json': JSON.stringify({ PreToolUse: [{ command: './check' }] }),
      'SKILL.md': '---\nname: Review\n---\n',
    };
    for (const name of ['io.acme/review', 'io.acme/hidden-skill'])
      await storeContent(service, 'skill', name, '1.0.0', files);
  });

  it.each([
    'npm:left-pad',
    'npm:LEFT-PAD',
    'pypi:acme-tool',
    'pypi:acme_tool',
    'oci:ghcr.io/acme/mcp',
    'oci:ghcr.io/acme/mcp:1',
    'url:https://mcp.acme.example',
    'url:https://mcp.acme.example/mcp/',
    'url:https://mcp.acme.example/mcp/v1',
    'hook:PreToolUse',
    'skill:review',
  ])('%s finds what the caller sees with this member', async (contains) => {
    const query = `contains=${encodeURIComponent(contains)}`;
    const found = await find(query);
    expect(namesIn(found)).toEqual(['acme/review']);
    expect(found.facets.type).toEqual({ skill: 1 });
    expect(namesIn(await find(query, service.as(PLATFORM)))).toEqual(['acme/hidden-skill', 'acme/review']);
  });

  it.each([
    'npm:left',
    'npm:pad',
    'oci:ghcr.io/acme/mcp:2',
    'url:https://mcp.acme.example/m',
    'hook:Pre',
    'skill:x',
  ])('%s finds nothing', async (contains) => {
    expect(namesIn(await find(`contains=${encodeURIComponent(contains)}`))).toEqual([]);
  });

  it('finds servers only if asked for', async () => {
    const query = 'contains=url:https://mcp.acme.example/mcp';
    expect(namesIn(await find(query))).toEqual(['acme/review']);
    expect(namesIn(await find(`${query}&type=server`))).toEqual(['acme/github', 'acme/github-extra']);
    const own = namesIn(await find(`${query}&type=server`, service.as(PLATFORM)));
    expect(own).toEqual(['acme/github-secret', 'acme/github', 'acme/github-extra']);
  });

  it('stays in the cursor, and member names are found as words', async () => {
    const page = await find('contains=npm:left-pad&limit=1', service.as(PLATFORM));
    const next = await find(`cursor=${page.metadata.nextCursor}`, service.as(PLATFORM));
    expect([...namesIn(page), ...namesIn(next)]).toEqual(['acme/hidden-skill', 'acme/review']);
    const { items } = await find('q=acme-tool&details=true');
    expect(items).toMatchObject([{ name: 'io.acme/review', matched: [{ in: 'member', text: 'acme-tool' }] }]);
  });
});
