import { describe, expect, it } from 'vitest';
import { entryAt } from '../support/publishing.js';
import { aServer, type Document } from '../support/documents.js';
import { aService } from '../support/service.js';

const GIVEN: Document[] = [
  { org: 'acme', team: ['web', 'data'] },
  { org: 'acme', team: ['data', 'web'] },
  { org: ['acme'], team: ['web'] },
  { team: 'web', org: 'acme' },
  { org: ['acme', 'web', 'data'], '10': 'b', '9': 'a' },
  {},
];

describe('claims are returned as they were given', () => {
  const service = aService({ mode: 'full' })
    .source('file', { servers: [aServer('io.acme/a')], claims: GIVEN[0] })
    .source('managed', { kind: 'managed', claims: GIVEN[2] })
    .registry('main', { sources: ['managed', 'file'], claims: GIVEN[1] })
    .runs();
  const admin = () => service.as({ sub: 'ada', role: 'super-admin' });
  const claimsOf = async (path: string) => ((await admin().get(path)).json as { claims: unknown }).claims;

  it('by configured sources and registries, and by entries that inherit them', async () => {
    expect(await claimsOf('/v1/sources/file')).toEqual(GIVEN[0]);
    expect(await claimsOf('/v1/sources/managed')).toEqual(GIVEN[2]);
    expect(await claimsOf('/v1/registries/main')).toEqual(GIVEN[1]);
    expect((await admin().get('/v1/sources/file/entries')).json).toMatchObject({
      entries: [{ name: 'io.acme/a', claims: GIVEN[0] }],
    });
  });

  it.each(GIVEN)('by a registry created through the API: %j', async (claims) => {
    const put = await admin().put('/v1/registries/made', { sources: ['file'], claims });
    expect(put.json).toMatchObject({ claims });
    expect(await claimsOf('/v1/registries/made')).toEqual(claims);
  });

  it.each(GIVEN)('by an entry after its claims change: %j', async (claims) => {
    const entry = entryAt('server', `io.acme/${GIVEN.indexOf(claims)}`);
    const publication = { server: aServer(`io.acme/${GIVEN.indexOf(claims)}`), claims: GIVEN[1] };
    expect((await admin().post('/v1/entries', publication)).json).toMatchObject({ claims: GIVEN[1] });
    expect((await admin().put(`${entry}/claims`, { claims })).status).toBe(204);
    expect(await claimsOf(`${entry}/claims`)).toEqual(claims);
    expect((await admin().get(entry)).json).toMatchObject({ claims });
  });

  it('although equality ignores their order: a later version keeps the claims of the first', async () => {
    for (const [number, claims] of [GIVEN[0], GIVEN[1]].entries()) {
      const server = aServer('io.acme/order', `1.0.${number}`);
      const reply = await admin().post('/v1/entries', { server, claims });
      expect({ status: reply.status, body: reply.json as unknown }).toMatchObject({
        status: 201,
        body: { claims: GIVEN[0] },
      });
    }
  });

  it('although the gate ignores their order', async () => {
    const reader = service.as({ org: 'acme', team: ['data', 'web'] });
    const partly = service.as({ org: 'acme', team: ['data'] });
    for (const claims of [GIVEN[0], GIVEN[1]]) {
      await admin().put('/v1/registries/order', { sources: ['file'], claims });
      expect((await reader.get('/registry/order/v0.1/servers')).json).toMatchObject({
        metadata: { count: 1 },
      });
      expect((await partly.get('/registry/order/v0.1/servers')).status).toBe(403);
    }
  });

  it('and a restart with the same file does not change the source', async () => {
    const updatedAt = async () =>
      ((await admin().get('/v1/sources/file')).json as { updatedAt: string }).updatedAt;
    const before = await updatedAt();
    await service.restart();
    expect(await updatedAt()).toBe(before);
  });
});
