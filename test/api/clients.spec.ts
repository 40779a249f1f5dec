import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { aServer, aSkill } from '../support/documents.js';
import { expectRefused } from '../support/matchers.js';
import { aService } from '../support/service.js';

const BASE = '/registry/default';
const READER = { org: 'acme' };

/** The requests of clients and their responses, from docs/clients.md. */
const [, LIST = ''] = readFileSync('docs/clients.md', 'utf8').split('## Requests clients send\n');
const REQUESTS = [...LIST.replaceAll('\n  ', ' ').matchAll(/^- ([^:]+): (.*)$/gm)].flatMap(
  ([, client = '', paths = '']) =>
    [...paths.matchAll(/`([^`]+)`(?: \((\d+)\))?/g)].map(([, path = '', status = '200']) => ({
      client,
      path: client === 'Cloud UI' ? path : BASE + path,
      status: Number(status),
    })),
);

const servers = [aServer('io.github.example/weather'), aServer('io.github.example/mail')];
const skills = [aSkill('io.github.example/greeting')];
const catalog = { servers, skills, plugins: skills, claims: READER };

describe('a client with a token', () => {
  const service = aService({ mode: 'full', policy: { registryListing: 'readers' } })
    .source('catalog', catalog)
    .registry('default', { sources: ['catalog'], claims: READER })
    .runs();

  it('sends the requests documented in docs/clients.md', () => expect(REQUESTS.length).toBeGreaterThan(15));

  it.each(REQUESTS)('$client: GET $path returns $status', async ({ path, status }) => {
    const reply = await service.as(READER).get(path);
    expect(reply.status).toBe(status);
    if (status === 200) expect(reply.text).toMatch(/io\.github\.example|"default"/);
    // Paths that no registry has are refused without a token; every other route requires one.
    const without = await service.get(path);
    if (status === 200) expectRefused(without, 401, 'token_missing');
    else expectRefused(without, status, status === 501 ? 'use_admin_api' : 'route_not_found');
  });

  it.each(REQUESTS)(
    '$client: GET $path shows nothing to a caller from another organization',
    async ({ path }) => {
      const reply = await service.as({ org: 'contoso' }).get(path);
      expect(reply.text).not.toContain('io.github.example/');
      expect(reply.text).not.toContain('"name":"default"');
    },
  );
});

describe('a client without a token', () => {
  const service = aService({ mode: 'auth-only', publicPaths: ['/registry/default/*'] })
    .source('catalog', catalog)
    .registry('default', { sources: ['catalog'] })
    .registry('other', { sources: ['catalog'] })
    .runs();

  it.each(REQUESTS.filter(({ path }) => path.startsWith(BASE)))(
    'in auth-only mode reads a registry on a public path: $path returns $status',
    async ({ path, status }) => {
      expect((await service.get(path)).status).toBe(status);
      if (status === 200) expectRefused(await service.get(path.replace(BASE, '/registry/other')), 401, 'token_missing');
    },
  ); // oxfmt-ignore

  it('gets 401 for the admin API', async () => {
    expectRefused(await service.get('/v1/registries'), 401, 'token_missing');
  });
});

describe('a client without a token in full mode', () => {
  const service = aService({ mode: 'full', publicPaths: ['/registry/default/*'] })
    .source('catalog', catalog)
    .source('unlabelled', { servers: [aServer('io.github.example/open')] })
    .registry('default', { sources: ['catalog', 'unlabelled'] })
    .runs();

  it('gets an empty list on a public path', async () => {
    const reply = await service.get(`${BASE}/v0.1/servers`);
    expect({ status: reply.status, servers: (reply.json as { servers: [] }).servers }).toEqual({
      status: 200,
      servers: [],
    });
    const reader = await service.as(READER).get(`${BASE}/v0.1/servers`);
    expect((reader.json as { servers: [] }).servers).toHaveLength(2);
  });
});
