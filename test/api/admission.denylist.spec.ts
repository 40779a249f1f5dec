import { afterEach, expect, it } from 'vitest';
import { itemsFor } from '../support/admission.js';
import { SUPER_ADMIN } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import type { Sender } from '../support/http.js';
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
