import { describe, expect, it } from 'vitest';
import { aServer, aSkill } from '../support/documents.js';
import { cursorIn, expectRefused, versionsIn } from '../support/matchers.js';
import { aService } from '../support/service.js';

const LIST = '/registry/main/v0.1/servers';
const SKILLS = '/registry/main/v0.1/x/dev.toolhive/skills';

describe('the consumer API of a registry with one source', () => {
  const service = aService()
    .source('main', {
      servers: [
        aServer('io.acme/deploy', '1.9.0', { title: 'Deploy Things' }),
        aServer('io.acme/deploy', '1.10.0'),
        aServer('io.acme/deploy', '2.0.0-rc.1', { description: 'Ships 100% of it_all' }),
        aServer('io.acme/Zeta', '0.1.0', { description: 'Überwacht Züge' }),
        aServer('com.acme/odd', 'nightly'),
      ],
      skills: [
        aSkill('io.acme/review', '1.0.0', { title: 'Code review' }),
        aSkill('io.acme/review', '1.1.0', { status: 'deprecated' }),
        aSkill('io.acme/brew', '0.1.0', { status: 'archived' }),
      ],
    })
    .registry('main', { sources: ['main'] })
    .registry('empty', { sources: ['main-empty'] })
    .source('main-empty', { servers: [aServer('io.acme/x')], filter: { names: { include: ['none/*'] } } })
    .runs();

  it('lists names bytewise and the newest version first', async () => {
    expect(versionsIn(await service.get(LIST))).toEqual([
      'com.acme/odd@nightly',
      'io.acme/Zeta@0.1.0',
      'io.acme/deploy@2.0.0-rc.1',
      'io.acme/deploy@1.10.0',
      'io.acme/deploy@1.9.0',
    ]);
  });

  it('marks one version of a name as the latest', async () => {
    const { servers } = (await service.get(LIST)).json as {
      servers: {
        server: { version: string };
        _meta: Record<string, { isLatest: boolean; status: string }>;
      }[];
    };
    const latest = servers.filter(
      (item) => item._meta['io.modelcontextprotocol.registry/official']?.isLatest,
    );
    expect(latest.map((item) => item.server.version)).toEqual(['nightly', '0.1.0', '2.0.0-rc.1']);
  });

  it('returns dates in RFC 3339 UTC with Z', async () => {
    const reply = await service.get(`${LIST}/io.acme%2Fdeploy/versions/1.9.0`);
    const official = (reply.json as { _meta: Record<string, Record<string, string>> })._meta[
      'io.modelcontextprotocol.registry/official'
    ];
    for (const key of ['publishedAt', 'updatedAt', 'statusChangedAt'])
      expect(official?.[key]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(official).toMatchObject({ status: 'active', isLatest: false });
  });

  it.each([
    ['?version=latest', ['com.acme/odd@nightly', 'io.acme/Zeta@0.1.0', 'io.acme/deploy@2.0.0-rc.1']],
    ['?version=1.9.0', ['io.acme/deploy@1.9.0']],
    ['?version=9.9.9', []],
    ['?search=DEPLOY&version=1.10.0', ['io.acme/deploy@1.10.0']],
    ['?search=deploy%20things', ['io.acme/deploy@1.9.0']],
    ['?search=%C3%9CBERWACHT', ['io.acme/Zeta@0.1.0']],
    ['?search=100%25', ['io.acme/deploy@2.0.0-rc.1']],
    ['?search=t_all', ['io.acme/deploy@2.0.0-rc.1']],
    ['?search=e%25l', []],
    ['?search=%5C', []],
    ['?updated_since=2999-01-01T00:00:00Z', []],
    ['?updated_since=2999-01-01T00:00:00%2B02:00&search=deploy', []],
    ['?search=&version=&unknown=1&include_deleted=true&limit=1', ['com.acme/odd@nightly']],
  ])('filters servers by %s', async (query, expected) => {
    expect(versionsIn(await service.get(LIST + query))).toEqual(expected);
  });

  it('includes versions updated exactly at updated_since', async () => {
    const reply = await service.get(`${LIST}/com.acme%2Fodd/versions/latest`);
    const { updatedAt } = (reply.json as { _meta: Record<string, { updatedAt: string }> })._meta[
      'io.modelcontextprotocol.registry/official'
    ] ?? { updatedAt: '' };
    expect(versionsIn(await service.get(`${LIST}?updated_since=${updatedAt}`))).toHaveLength(5);
  });

  it.each(['0', '101', '-1', '1.5', 'x', '1e1', '99999999999999999999', '%205', '05', '5&limit=6'])(
    'returns 400 for limit=%s',
    async (limit) => {
      expectRefused(await service.get(`${LIST}?limit=${limit}`), 400, 'invalid_parameter');
    },
  );

  it.each([
    'updated_since=yesterday',
    'updated_since=2026-02-30T00:00:00Z',
    'updated_since=2026-01-01',
    'updated_since=9999-12-31T23:59:59-12:00',
    'include_deleted=maybe',
    'search=a&search=b',
    'search=%00',
    'version=%00',
  ])('returns 400 for %s', async (query) => {
    expectRefused(await service.get(`${LIST}?${query}`), 400, 'invalid_parameter');
  });

  it.each(['x', '%20', 'AAAA', '%00', 'eyJhIjoxfQ', Buffer.from('[]').toString('base64url')])(
    'returns 400 for the cursor %s',
    async (cursor) => {
      expectRefused(await service.get(`${LIST}?cursor=${cursor}`), 400, 'invalid_cursor');
    },
  );

  it('returns 400 for a very long cursor', async () => {
    expectRefused(await service.get(`${LIST}?cursor=${'a'.repeat(9_000)}`), 400, 'invalid_cursor');
  });

  it('returns 400 for a cursor with one changed character', async () => {
    const cursor = cursorIn(await service.get(`${LIST}?limit=1`)) ?? '';
    expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/);
    expectRefused(await service.get(`${SKILLS}?cursor=${cursor}`), 400, 'invalid_cursor');
    for (let at = 0; at < cursor.length; at += 7) {
      const mangled = cursor.slice(0, at) + (cursor[at] === 'A' ? 'B' : 'A') + cursor.slice(at + 1);
      expectRefused(await service.get(`${LIST}?cursor=${mangled}`), 400, 'invalid_cursor');
    }
    expectRefused(await service.get(`${LIST}?cursor=${cursor.slice(0, -1)}`), 400, 'invalid_cursor');
  });

  it('continues the query of the cursor and ignores other filters', async () => {
    const first = await service.get(`${LIST}?search=deploy&limit=1`);
    const cursor = cursorIn(first);
    const rest = ['io.acme/deploy@1.10.0', 'io.acme/deploy@1.9.0'];
    expect(versionsIn(first)).toEqual(['io.acme/deploy@2.0.0-rc.1']);
    expect(versionsIn(await service.get(`${LIST}?cursor=${cursor}`))).toEqual(rest.slice(0, 1));
    expect(versionsIn(await service.get(`${LIST}?cursor=${cursor}&limit=9`))).toEqual(rest);
    expect(versionsIn(await service.get(`${LIST}?cursor=${cursor}&limit=9&search=zeta`))).toEqual(rest);
  });

  it('returns all versions of a server by a name with %2F or %2f', async () => {
    const expected = ['io.acme/deploy@2.0.0-rc.1', 'io.acme/deploy@1.10.0', 'io.acme/deploy@1.9.0'];
    expect(versionsIn(await service.get(`${LIST}/io.acme%2Fdeploy/versions`))).toEqual(expected);
    expect(versionsIn(await service.get(`${LIST}/io.acme%2fdeploy/versions?include_deleted=true`))).toEqual(
      expected,
    );
  });

  it.each([
    ['io.acme%2Fdeploy/versions/latest', '2.0.0-rc.1'],
    ['io.acme%2Fdeploy/versions/1.9.0', '1.9.0'],
    ['com.acme%2Fodd/versions/latest', 'nightly'],
  ])('returns the version at %s', async (path, version) => {
    expect((await service.get(`${LIST}/${path}`)).json).toMatchObject({ server: { version } });
  });

  it.each([
    ['io.acme%2Fdeploy/versions/9.9.9', 'version_not_found'],
    ['io.acme%2Fnobody/versions/latest', 'entry_not_found'],
    ['io.acme%2Fnobody/versions', 'entry_not_found'],
    ['io.acme%2Freview/versions/latest', 'entry_not_found'],
    ['io.acme%252Fdeploy/versions', 'entry_not_found'],
    ['%00/versions/%00', 'entry_not_found'],
    ['io.acme%2Fdeploy/versions/%00', 'version_not_found'],
    ['io.acme/deploy/versions', 'route_not_found'],
    ['io.acme%2Fdeploy', 'route_not_found'],
    ['io.acme%2Fdeploy/versions//', 'route_not_found'],
  ])('returns 404 at %s', async (path, code) => {
    expectRefused(await service.get(`${LIST}/${path}`), 404, code);
  });

  it('serves the same under /v0', async () => {
    for (const path of ['/servers', '/servers/io.acme%2Fdeploy/versions/latest', '/x/dev.toolhive/skills'])
      expect((await service.get(`/registry/main/v0${path}`)).text).toBe(
        (await service.get(`/registry/main/v0.1${path}`)).text,
      );
  });

  it('returns 404 for an unknown registry and an empty list for an empty one', async () => {
    expectRefused(await service.get('/registry/nobody/v0.1/servers'), 404, 'registry_not_found');
    expectRefused(await service.get('/registry/%00/v0.1/servers?limit=0'), 404, 'registry_not_found');
    expect((await service.get('/registry/empty/v0.1/servers')).json).toEqual({
      servers: [],
      metadata: { count: 0 },
    });
  });

  it('lists the registries in the order of the configuration', async () => {
    const { registries } = (await service.get('/registry')).json as { registries: { name: string }[] };
    expect(registries.map((registry) => registry.name)).toEqual(['main', 'empty']);
  });

  it('lists each skill once, as a bare document of its latest version', async () => {
    expect((await service.get(SKILLS)).json).toEqual({
      skills: [
        aSkill('io.acme/brew', '0.1.0', { status: 'archived' }),
        aSkill('io.acme/review', '1.1.0', { status: 'deprecated' }),
      ],
      metadata: { count: 2 },
    });
  });

  it.each([
    ['?status=archived', ['brew']],
    ['?status=active', []],
    ['?search=CODE', []],
    ['?search=review', ['review']],
  ])('filters skills by %s', async (query, names) => {
    const { skills } = (await service.get(SKILLS + query)).json as { skills: { name: string }[] };
    expect(skills.map((skill) => skill.name)).toEqual(names);
  });

  it('returns 400 for an unknown status, and pages skills by cursor', async () => {
    expectRefused(await service.get(`${SKILLS}?status=deleted`), 400, 'invalid_parameter');
    const first = await service.get(`${SKILLS}?limit=1`);
    const { metadata } = first.json as { metadata: { nextCursor: string } };
    expect((await service.get(`${SKILLS}?cursor=${metadata.nextCursor}`)).json).toMatchObject({
      skills: [{ name: 'review' }],
      metadata: { count: 1 },
    });
  });

  it('returns skills and their versions by namespace and name', async () => {
    expect((await service.get(`${SKILLS}/io.acme/review`)).json).toMatchObject({ version: '1.1.0' });
    expect((await service.get(`${SKILLS}/io.acme/review/versions/1.0.0`)).json).toEqual(
      aSkill('io.acme/review', '1.0.0', { title: 'Code review' }),
    );
    expect((await service.get(`${SKILLS}/io.acme/review/versions`)).json).toMatchObject({
      skills: [{ version: '1.1.0' }, { version: '1.0.0' }],
      metadata: { count: 2 },
    });
    expectRefused(await service.get(`${SKILLS}/io.acme/deploy`), 404, 'entry_not_found');
    expectRefused(await service.get(`${SKILLS}/io.acme/review/versions/7`), 404, 'version_not_found');
  });
});
