import { describe, expect, it } from 'vitest';
import { ACME_ADMIN, ACME_WRITER, SUPER_ADMIN } from '../support/callers.js';
import { type Document, aServer, aSkill } from '../support/documents.js';
import type { Reply, Sender } from '../support/http.js';
import { cursorIn, expectChallenge, expectRefused } from '../support/matchers.js';
import { aPublishingService, entryAt, type Mode, publish, seed, type Type } from '../support/publishing.js';
import type { ServiceUnderTest } from '../support/service.js';

const PLATFORM = { org: 'acme', team: 'platform' };
const DATA = { org: 'acme', team: 'data' };
const DATE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

// The entries in list order: bytewise by name, then by type.
const ENTRIES: readonly [type: Type, name: string, claims: Document][] = [
  ['skill', 'a.acme/both', DATA],
  ['server', 'a.acme/cleared', {}],
  ['server', 'b.acme/data', DATA],
  ['server', 'b.acme/platform', PLATFORM],
  ['skill', 'b.acme/platform', PLATFORM],
  ['server', 'b.acme/teams', { team: ['data', 'platform'] }],
  ['server', 'c.contoso/other', { org: 'contoso' }],
  ['skill', 'd.acme/all', { org: 'acme' }],
];
const ALL = ENTRIES.map(([type, name]) => `${type} ${name}`);

async function fill(service: ServiceUnderTest): Promise<void> {
  for (const [type, name, claims] of [...ENTRIES].reverse()) await seed(service, type, name, claims);
}

function aFilledService(mode: Mode, policy?: Document): ServiceUnderTest {
  return aPublishingService(mode, policy)
    .source('file', {
      servers: [aServer('b.acme/filed'), aServer('b.acme/platform', '9.0.0')],
      skills: [aSkill('b.acme/filed')],
      claims: { org: 'acme' },
    })
    .registry('both', { sources: ['file', 'published'] });
}

async function entriesOf(caller: Sender, query = ''): Promise<string[]> {
  return entriesIn(await caller.get(`/v1/entries${query}`));
}

function entriesIn(reply: Reply): string[] {
  expect(reply.status).toBe(200);
  const { entries, metadata } = reply.json as { entries: Document[]; metadata: { count: number } };
  expect(metadata.count).toBe(entries.length);
  return entries.map(({ type, name }) => `${String(type)} ${String(name)}`);
}

async function pagesOf(caller: Sender, limit: number): Promise<string[][]> {
  const pages: string[][] = [];
  for (let cursor: string | undefined = ''; cursor !== undefined;) {
    const reply = await caller.get(`/v1/entries${cursor === '' ? `?limit=${limit}` : `?cursor=${cursor}`}`);
    pages.push(entriesIn(reply));
    cursor = cursorIn(reply);
    if (cursor !== undefined) expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/);
  }
  return pages;
}

describe('GET /v1/entries in full mode', () => {
  const service = aFilledService('full').runs();
  const ready = fillOnce(service);

  it.each([
    ['a super-admin', SUPER_ADMIN, ALL],
    [
      'a publisher of one team',
      ACME_WRITER,
      ['server a.acme/cleared', 'server b.acme/platform', 'skill b.acme/platform', 'skill d.acme/all'],
    ],
    [
      'a publisher of another team',
      { ...ACME_WRITER, team: 'data' },
      ['skill a.acme/both', 'server a.acme/cleared', 'server b.acme/data', 'skill d.acme/all'],
    ],
    [
      'a publisher of both teams',
      { ...ACME_WRITER, team: ['platform', 'data'] },
      ALL.filter((entry) => entry !== 'server c.contoso/other'),
    ],
    [
      'a publisher of another organization',
      { ...ACME_WRITER, org: 'contoso' },
      ['server a.acme/cleared', 'server c.contoso/other'],
    ],
    ['a publisher without claims', { role: 'writer' }, ['server a.acme/cleared']],
  ])(
    'returns to %s only the entries in the managed source that they may manage',
    async (_what, claims, expected) => {
      await ready();
      const caller = service.as(claims);
      expect(await entriesOf(caller)).toEqual(expected);
      for (const limit of [1, 3])
        expect(await pagesOf(caller, limit)).toEqual(
          Array.from({ length: Math.ceil(expected.length / limit) }, (_, page) =>
            expected.slice(page * limit, (page + 1) * limit),
          ),
        );
      // Listed entries are readable; all others return 404.
      for (const [type, name] of ENTRIES)
        expect((await caller.get(entryAt(type, name))).status).toBe(
          expected.includes(`${type} ${name}`) ? 200 : 404,
        );
    },
  );

  it('finds an entry by type and name for its managers only', async () => {
    await ready();
    const [writer, other] = [service.as(ACME_WRITER), service.as({ ...ACME_WRITER, team: 'data' })];
    const name = 'b.acme/platform';
    const both = ['server b.acme/platform', 'skill b.acme/platform'];
    const asked = `name=${encodeURIComponent(name)}`;
    expect(await entriesOf(writer, `?type=skill&${asked}`)).toEqual(['skill b.acme/platform']);
    expect(await entriesOf(writer, `?${asked}`)).toEqual(both);
    expect(await entriesOf(writer, `?type=&${asked}&limit=1`)).toEqual([both[0]]);
    expect(await entriesOf(writer, '?type=skill')).toEqual(['skill b.acme/platform', 'skill d.acme/all']);
    expect(await entriesOf(writer, '?name=')).toEqual(await entriesOf(writer));
    expect(await entriesOf(other, `?type=skill&${asked}`)).toEqual([]);
    // Names in another source, in another letter case, cut short, and missing.
    for (const none of ['b.acme/filed', 'B.acme/platform', 'b.acme/plat', 'b.acme/none'])
      expect(await entriesOf(writer, `?name=${encodeURIComponent(none)}`)).toEqual([]);
    expectRefused(await writer.get('/v1/entries?type=tool'), 400, 'invalid_parameter');
    expectRefused(await writer.get(`/v1/entries?${asked}&name=x`), 400, 'invalid_parameter');
    expectRefused(await writer.get(`/v1/entries?name=${'x'.repeat(301)}`), 400, 'invalid_parameter');
  });

  it('returns the same shape as GET /v1/sources/{name}/entries', async () => {
    await ready();
    await publish(service.as(ACME_WRITER), 'server', 'z.acme/shape', PLATFORM, '1.0.0', '2.0.0');
    const { entries } = (await service.as(ACME_WRITER).get('/v1/entries')).json as { entries: Document[] };
    const shape = entries.find(({ name }) => name === 'z.acme/shape');
    const publishedAt: unknown = expect.stringMatching(DATE);
    const digest: unknown = expect.stringMatching(/^[0-9a-f]{64}$/);
    expect(shape).toEqual({
      type: 'server',
      name: 'z.acme/shape',
      source: 'published',
      claims: PLATFORM,
      versions: [
        { version: '2.0.0', digest, status: 'active', isLatest: true, publishedAt },
        { version: '1.0.0', digest, status: 'active', isLatest: false, publishedAt },
      ],
    });
    const raw = await service.as(ACME_ADMIN).get('/v1/sources/published/entries');
    expect((raw.json as { entries: Document[] }).entries).toContainEqual(shape);
    for (const version of ['1.0.0', '2.0.0'])
      await service.as(ACME_WRITER).delete(entryAt('server', 'z.acme/shape', `/versions/${version}`));
  });

  it('continues from a cursor after its entry was deleted', async () => {
    await ready();
    for (const name of ['e.acme/one', 'e.acme/two', 'e.acme/zero'])
      await publish(service.as({ org: 'e', role: 'writer' }), 'server', name, { org: 'e' });
    const caller = service.as({ org: 'e', role: 'writer' });
    const cursor = cursorIn(await caller.get('/v1/entries?limit=2'));
    expect(await entriesOf(caller, '?limit=2')).toEqual(['server a.acme/cleared', 'server e.acme/one']);
    await caller.delete(entryAt('server', 'e.acme/one', '/versions/1.0.0'));
    expect(await entriesOf(caller, `?cursor=${cursor}`)).toEqual(['server e.acme/two', 'server e.acme/zero']);
    // The cursor shows another caller nothing.
    expect(await entriesOf(service.as({ role: 'writer' }), `?cursor=${cursor}`)).toEqual([]);
    for (const name of ['e.acme/two', 'e.acme/zero'])
      await caller.delete(entryAt('server', name, '/versions/1.0.0'));
  });

  it('requires a token, the role and valid parameters', async () => {
    await ready();
    expectChallenge(await service.get('/v1/entries'));
    expectChallenge(await service.get('/v1/entries?limit=0'));
    expectRefused(await service.as(ACME_ADMIN).get('/v1/entries?limit=0'), 403, 'role_required');
    const get = (query: string) => service.as(ACME_WRITER).get(`/v1/entries?${query}`);
    for (const limit of ['0', '101', '-1', '1.5', 'x', '', '1&limit=2'])
      expectRefused(await get(`limit=${limit}`), 400, 'invalid_parameter');
    for (const limit of ['1', '100']) expect((await get(`limit=${limit}`)).status).toBe(200);
    const cursor = String(cursorIn(await get('limit=1')));
    expect((await get(`cursor=${cursor}`)).status).toBe(200);
    for (const mangled of ['x', `${cursor}x`, cursor.slice(1), cursor.toLowerCase(), '%00'])
      expectRefused(await get(`cursor=${mangled}`), 400, 'invalid_cursor');
    const other = cursorIn(await service.as(ACME_ADMIN).get('/v1/sources/published/entries?limit=1'));
    expectRefused(await get(`cursor=${other}`), 400, 'invalid_cursor');
    expect((await get('unknown=1')).status).toBe(200);
  });
});

describe('GET /v1/entries with arrayValues any', () => {
  const service = aPublishingService('full', { arrayValues: 'any' }).runs();

  it('returns entries with one held value', async () => {
    await seed(service, 'server', 'b.acme/teams', { team: ['data', 'platform'] });
    expect(await entriesOf(service.as(ACME_WRITER))).toContain('server b.acme/teams');
    expect(await entriesOf(service.as({ ...ACME_WRITER, team: 'web' }))).not.toContain('server b.acme/teams');
  });
});

describe.each(['anonymous', 'auth-only'] as const)('GET /v1/entries in %s mode', (mode) => {
  const service = aFilledService(mode).runs();
  const ready = fillOnce(service);

  it('returns all entries to every caller', async () => {
    await ready();
    expect(await entriesOf(service.as({ org: 'nobody' }))).toEqual(ALL);
    if (mode === 'anonymous') expect(await entriesOf(service)).toEqual(ALL);
    else expectChallenge(await service.get('/v1/entries'));
  });
});

/** Publishes the entries before the first test that needs them. */
function fillOnce(service: ServiceUnderTest): () => Promise<void> {
  let filled: Promise<void> | undefined;
  return () => (filled ??= fill(service));
}

describe('a list of more than 1 MiB', () => {
  const ENTRY_COUNT = 40;
  const service = aFilledService('anonymous').runs();

  it.each(['', '?limit=100'])('continues with nextCursor: /v1/entries%s', async (query) => {
    await service.database.query(
      `with added as (
         insert into entry (source_id, type, name, claim_set_id)
         select id, 'server', 'io.acme/s' || to_char(n, 'FM00'), claim_set_id
         from source, generate_series(1, $1::int) n where name = 'published'
         on conflict do nothing returning id
       )
       insert into entry_version (entry_id, version, version_key, document, digest, status, status_changed_at,
         published_at, updated_at, is_latest, search)
       select id, v::text, v::text, '{}', '\\x00', 'active', now(), now(), now(), v = 1, 'x'
       from added, generate_series(1, 300) v`,
      [ENTRY_COUNT],
    );
    const names: unknown[] = [];
    let pages = 0;
    for (let next: string | undefined = query; next !== undefined; pages += 1) {
      const reply = await service.get(`/v1/entries${next}`);
      expect(reply.bytes.length).toBeLessThan(1.01 * 1_024 * 1_024);
      const { entries } = reply.json as { entries: { name: string; versions: unknown[] }[] };
      for (const { name, versions } of entries) {
        names.push(name);
        expect(versions).toHaveLength(300);
      }
      const cursor = cursorIn(reply);
      next = cursor === undefined ? undefined : `?cursor=${cursor}`;
    }
    expect(pages).toBe(2);
    expect(names).toHaveLength(ENTRY_COUNT);
    expect(new Set(names).size).toBe(ENTRY_COUNT);
  });
});
