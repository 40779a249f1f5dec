import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ACME_ADMIN, ACME_PLATFORM, SUPER_ADMIN } from '../support/callers.js';
import { aServer, aSkill } from '../support/documents.js';
import type { Reply } from '../support/http.js';
import { cursorIn, expectRefused, withoutSources } from '../support/matchers.js';
import { aService, type ServiceUnderTest } from '../support/service.js';
import { StatementTap } from '../support/statement-tap.js';
import { within } from '../support/within.js';

const LISTS = [
  '/registry/open/v0.1/servers',
  '/registry/open/v0.1/x/dev.toolhive/skills',
  '/v1/sources',
  '/v1/registries',
  '/v1/sources/shown/entries',
];

// Hidden entries sort before, between and after the entries visible to Acme, and one shadows a visible entry.
const service = aService({ mode: 'full' })
  .source('a-hidden', {
    claims: { org: 'contoso' },
    servers: ['a-veil', 'c-veil', 'shared', 'z-veil'].map((name) => aServer(`io.acme/${name}`, '3.0.0')),
    skills: ['a-veil', 'c-veil', 'shared', 'z-veil'].map((name) => aSkill(`io.acme/${name}`, '3.0.0')),
  })
  .source('shown', {
    claims: { org: 'acme' },
    servers: ['beta', 'delta', 'shared'].flatMap((name) => [
      aServer(`io.acme/${name}`, '1.0.0'),
      aServer(`io.acme/${name}`, '2.0.0'),
    ]),
    skills: ['beta', 'delta', 'shared'].map((name) => aSkill(`io.acme/${name}`)),
  })
  .source('theirs', { claims: { org: 'acme' }, servers: [aServer('io.acme/theirs')] })
  .source('y-hidden', { kind: 'managed', claims: { org: 'contoso' } })
  .source('z-shown', { claims: { org: 'acme' }, servers: [aServer('io.acme/e')] })
  .registry('a-veil', { sources: ['a-hidden'], claims: { org: 'contoso' } })
  .registry('open', { sources: ['a-hidden', 'shown', 'z-shown'], claims: { org: 'acme' } })
  .registry('secret-veil', { sources: ['theirs'], claims: { org: 'contoso' } })
  .registry('other', { sources: ['shown'], claims: { org: 'acme' } })
  .runs();

beforeAll(async () => {
  await service.database.query(`update source set origin = 'api' where name = 'theirs'`);
});

describe('a cursor', () => {
  it.each(LISTS.slice(0, 4))(
    'of %s issued to a super-admin returns only rows the caller may see',
    async (path) => {
      const own = rowsIn(await service.as(ACME_ADMIN).get(`${path}?limit=100`));
      const cursors = await walk(SUPER_ADMIN, path);
      expect(cursors.length).toBeGreaterThan(own.length);
      for (const cursor of cursors) {
        const reply = await service.as(ACME_ADMIN).get(`${path}?limit=100&cursor=${cursor}`);
        const rows = rowsIn(reply);
        expect(rows).toEqual(own.slice(own.length - rows.length));
        expect(withoutSources(reply)).not.toMatch(/veil|hidden/);
        expect(cursorIn(reply)).toBeUndefined();
      }
    },
  );

  it('does not pass the gate of another registry', async () => {
    const [cursor] = await walk(SUPER_ADMIN, '/registry/a-veil/v0.1/servers');
    const at = (registry: string) => `/registry/${registry}/v0.1/servers?cursor=${cursor}`;
    expectRefused(await service.as(ACME_ADMIN).get(at('a-veil')), 403, 'registry_forbidden');
    expect((await service.as(ACME_ADMIN).get(at('open'))).text).not.toMatch(/veil/);
  });

  it.each(LISTS)('of %s contains no hidden names', async (path) => {
    for (const cursor of await walk(ACME_ADMIN, path))
      expect(Buffer.from(cursor, 'base64url').toString('latin1')).not.toMatch(/veil|hidden/);
  });

  async function walk(caller: Record<string, unknown>, path: string): Promise<string[]> {
    const cursors: string[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const reply = await service.as(caller).get(`${path}?limit=1${cursor && `&cursor=${cursor}`}`);
      expect(reply.status).toBe(200);
      cursor = cursorIn(reply);
      if (cursor !== undefined) cursors.push(cursor);
    }
    return cursors;
  }
});

describe("If-None-Match with another caller's ETag", () => {
  it.each([
    ...LISTS.filter((path) => !path.endsWith('entries')),
    '/registry',
    '/registry/open/v0.1/servers/io.acme%2Fshared/versions',
    '/registry/open/v0.1/servers/io.acme%2Fshared/versions/latest',
    '/registry/open/v0.1/x/dev.toolhive/skills/io.acme/shared',
  ])('returns 200 for %s when the caller sees something else', async (path) => {
    const all = await service.as(SUPER_ADMIN).get(path);
    const own = await service.as(ACME_ADMIN).get(path);
    expect(all.status).toBe(200);
    expect(own.text).not.toBe(all.text);
    const reply = await service.as(ACME_ADMIN).get(path, { 'If-None-Match': String(all.headers['etag']) });
    expect({ status: reply.status, text: reply.text }).toEqual({ status: 200, text: own.text });
    expect(own.headers['etag'] ?? 'none').not.toBe(all.headers['etag']);
  });

  it.each([
    ['/v1/sources/a-hidden', 404, 'source_not_found'],
    ['/v1/sources/a-hidden/entries', 404, 'source_not_found'],
    ['/v1/registries/a-veil', 404, 'registry_not_found'],
    ['/v1/registries/a-veil/entries', 404, 'registry_not_found'],
    ['/registry/a-veil/v0.1/servers', 403, 'registry_forbidden'],
    ['/registry/a-veil/v0.1/servers/io.acme%2Fshared/versions', 403, 'registry_forbidden'],
    ['/registry/open/v0.1/servers/io.acme%2Fa-veil/versions', 404, 'entry_not_found'],
    ['/registry/open/v0.1/servers/io.acme%2Fa-veil/versions/latest', 404, 'entry_not_found'],
    ['/registry/open/v0.1/servers/io.acme%2Fshared/versions/3.0.0', 404, 'version_not_found'],
    ['/registry/open/v0.1/x/dev.toolhive/skills/io.acme/a-veil', 404, 'entry_not_found'],
  ] as const)('does not turn the refusal of %s into a 304', async (path, status, code) => {
    const tag = String((await service.as(SUPER_ADMIN).get(path)).headers['etag']);
    for (const known of [tag, `W/${tag}`, `"other", ${tag}`, '*'])
      expectRefused(await service.as(ACME_ADMIN).get(path, { 'If-None-Match': known }), status, code);
  });

  it('returns 304 when both callers see the same', async () => {
    const [one, other] = [ACME_ADMIN, ACME_PLATFORM].map((caller) => service.as(caller));
    const tag = (await one?.get(LISTS[0] ?? ''))?.headers['etag'];
    expect((await other?.get(LISTS[0] ?? '', { 'If-None-Match': String(tag) }))?.status).toBe(304);
  });
});

describe('a 409', () => {
  it('does not mention a hidden registry that uses the source', async () => {
    const reply = await service.as(ACME_ADMIN).delete('/v1/sources/theirs');
    expectRefused(reply, 409, 'source_in_use');
    expect(reply.text).not.toMatch(/veil/);
  });

  it('does not mention a hidden managed source', async () => {
    const reply = await service
      .as(ACME_ADMIN)
      .put('/v1/sources/another', { managed: {}, claims: { org: 'acme' } });
    expectRefused(reply, 409, 'managed_source_exists');
    expect(reply.text).not.toMatch(/hidden/);
  });
});

describe('the data that a request reads', () => {
  let tap: StatementTap;
  let reader: ServiceUnderTest;
  beforeAll(async () => {
    tap = new StatementTap(service.database);
    const { user, database } = service.database;
    const throughTap = { host: '127.0.0.1', port: await tap.listen(), user, database };
    reader = service.replica().configuration({ database: throughTap });
    await reader.start();
  });
  afterAll(async () => {
    await reader.stop();
    tap.close();
  });
  const readsOf = async (path: string) => {
    tap.statements.length = 0;
    expect((await reader.as(ACME_ADMIN).get(path)).status).toBe(404);
    return tap.statements.filter((statement) => /^\s*(select|with)\b/i.test(statement));
  };

  it.each([
    ['/v1/sources/a-hidden', '/v1/sources/a-absent'],
    ['/v1/registries/a-veil', '/v1/registries/a-none'],
    [
      '/registry/open/v0.1/servers/io.acme%2Fa-veil/versions',
      '/registry/open/v0.1/servers/io.acme%2Fa-none/versions',
    ],
  ])(
    'does not depend on whether %s are hidden or missing, so timing reveals nothing',
    async (hidden, missing) => {
      // The first request fills caches. Reads by background work may coincide with one of the other requests.
      await readsOf(missing);
      await within(20_000, async () => {
        const expected = await readsOf(missing);
        expect(expected).not.toEqual([]);
        expect(await readsOf(hidden)).toEqual(expected);
      });
    },
  );
});

/** The rows of any list, as JSON texts. */
function rowsIn(reply: Reply): string[] {
  expect(reply.status).toBe(200);
  return Object.entries(reply.json as Record<string, unknown>)
    .flatMap(([key, rows]) => (key === 'metadata' ? [] : (rows as object[])))
    .map((row) => JSON.stringify(row));
}
