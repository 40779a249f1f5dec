import { describe, expect, it } from 'vitest';
import { decide, itemsFor, served, shortly } from '../support/admission.js';
import { ACME_ADMIN, ACME_WRITER, SUPER_ADMIN } from '../support/callers.js';
import { aServer, aSkill, type Document } from '../support/documents.js';
import { expectRefused } from '../support/matchers.js';
import { anyone, entryAt, publish } from '../support/publishing.js';
import { aService } from '../support/service.js';

const npm = (identifier: string, version?: string) => ({
  registryType: 'npm',
  identifier,
  ...(version === undefined ? {} : { version }),
  transport: { type: 'stdio' },
});

describe('a block', () => {
  const servers = [
    aServer('com.evil/a', '1.0.0'),
    aServer('com.evil/a', '2.0.0-rc.1'),
    aServer('com.evil/a', 'nightly'),
    aServer('com.good/p', '1.0.0', { packages: [npm('left-pad', '1.3.0')] }),
    aServer('com.good/q', '1.0.0', { packages: [npm('left-pad')] }),
    aServer('com.good/r', '1.0.0', { remotes: [{ type: 'sse', url: 'https://evil.example/mcp' }] }),
  ];
  const all = servers.map(({ name, version }) => `${String(name)}@${String(version)}`).sort();
  const service = aService()
    .source('mirror', { servers, skills: [aSkill('com.evil/tool')] })
    .source('published', { kind: 'managed' })
    .registry('main', { sources: ['mirror', 'published'] })
    .runs();

  const CASES: [what: string, block: Document, blocked: string[]][] = [
    [
      'a name',
      { names: ['com.evil/*'] },
      ['com.evil/a@1.0.0', 'com.evil/a@2.0.0-rc.1', 'com.evil/a@nightly'],
    ],
    ['a name in another case', { names: ['COM.evil/A'], versions: '1.0.0' }, ['com.evil/a@1.0.0']],
    [
      'a range, prereleases included',
      { names: ['com.evil/*'], versions: '>=1.5' },
      ['com.evil/a@2.0.0-rc.1'],
    ],
    ['every version, even if it is not semver', { names: ['com.evil/*'], versions: '*' }, all.slice(0, 3)],
    ['another name', { names: ['com.evil'] }, []],
    [
      'a package',
      { packages: [{ registryType: 'npm', identifier: 'left-*' }] },
      ['com.good/p@1.0.0', 'com.good/q@1.0.0'],
    ],
    [
      'a version of a package, and packages without one',
      { packages: [{ registryType: 'npm', identifier: 'left-pad', version: '1.3.0' }] },
      ['com.good/p@1.0.0', 'com.good/q@1.0.0'],
    ],
    [
      'another version of a package',
      { packages: [{ registryType: 'npm', identifier: 'left-pad', version: '<1.3' }] },
      ['com.good/q@1.0.0'],
    ],
    ['a package from another registry', { packages: [{ registryType: 'pypi', identifier: 'left-pad' }] }, []],
    ['a remote', { remotes: ['https://evil.example/*'] }, ['com.good/r@1.0.0']],
    [
      'a name and a remote, which must both match',
      { names: ['com.evil/*'], remotes: ['https://evil.example/*'] },
      [],
    ],
    ['a type', { names: ['com.evil/*'], types: ['skill'] }, []],
  ];

  it.each(CASES)('of %s hides matching versions until it is deleted', async (_, block, blocked) => {
    expect(await served(service)).toEqual(all);
    const preview = await service.post('/v1/blocks/preview', { ...block, reason: 'SEC-12' });
    expect(preview.status).toBe(200);
    expect(await served(service)).toEqual(all);
    expect((await service.put('/v1/blocks/test', { ...block, reason: 'SEC-12' })).status).toBe(201);
    expect(await served(service)).toEqual(all.filter((name) => !blocked.includes(name)));
    const items = await itemsFor(service, '?type=server');
    expect(shortly(items)).toEqual(blocked.map((name) => `${name}: block`).sort());
    expect(preview.json).toEqual({ matches: (await itemsFor(service)).length });
    await service.synced('mirror');
    expect(await served(service)).toEqual(all.filter((name) => !blocked.includes(name)));
    expect((await service.delete('/v1/blocks/test')).status).toBe(204);
    expect(await served(service)).toEqual(all);
    expect(await itemsFor(service)).toEqual([]);
  });

  it('updates latest, search and the metadata of versions correctly', async () => {
    const read = async () =>
      (await service.get('/registry/main/v0.1/servers/com.evil%2Fa/versions/latest')).json as {
        server: Document;
        _meta: Record<string, { publishedAt: string; isLatest: boolean }>;
      };
    const before = await read();
    expect(before.server['version']).toBe('2.0.0-rc.1');
    await service.put('/v1/blocks/test', { names: ['com.evil/a'], versions: '>=1.5', reason: 'x' });
    expect((await read()).server['version']).toBe('1.0.0');
    await service.put('/v1/blocks/test', { names: ['com.evil/a'], reason: 'x' });
    expect((await service.get('/registry/main/v0.1/servers?search=evil')).text).toContain('"servers":[]');
    await service.delete('/v1/blocks/test');
    const after = await read();
    const official = 'io.modelcontextprotocol.registry/official';
    expect(after.server).toEqual(before.server);
    expect(after._meta[official]?.publishedAt).toBe(before._meta[official]?.publishedAt);
    expect((await service.get('/registry/main/v0.1/servers?search=evil')).text).toContain('"2.0.0-rc.1"');
  });

  it('holds a version until the last of two blocks is deleted', async () => {
    const one = { names: ['com.evil/a'], versions: '1.0.0', reason: 'one' };
    await service.put('/v1/blocks/one', one);
    await service.put('/v1/blocks/two', { ...one, reason: 'two' });
    const [item] = await itemsFor(service);
    expect(item?.reasons.map(({ message }) => message)).toEqual(['Blocked: one', 'Blocked: two']);
    await service.delete('/v1/blocks/one');
    expect(await served(service)).not.toContain('com.evil/a@1.0.0');
    await service.delete('/v1/blocks/two');
    expect(await served(service)).toEqual(all);
  });

  it('matches documents by digest, and holds versions that a later sync adds', async () => {
    const entries = (await service.get('/v1/sources/mirror/entries')).json as {
      entries: { name: string; versions: { digest: string }[] }[];
    };
    const digest = entries.entries.find(({ name }) => name === 'com.good/r')?.versions[0]?.digest ?? '';
    await service.put('/v1/blocks/digest', { digests: [digest], reason: 'x' });
    expect(await served(service)).toEqual(all.filter((name) => !name.startsWith('com.good/r')));
    await service.put('/v1/blocks/names', { names: ['com.late/*'], reason: 'x' });
    await service.rewrite('mirror', { servers: [...servers, aServer('com.late/a')] });
    expect((await service.synced('mirror')).counts).toMatchObject({ held: 2, added: 0 });
    const [late] = await itemsFor(service, '?name=com.late%2Fa');
    if (late) expect((await decide(service, late, 'approve')).json).toMatchObject({ status: 'held' });
    await service.delete('/v1/blocks/names');
    await service.delete('/v1/blocks/digest');
    expect(await served(service)).toEqual([...all, 'com.late/a@1.0.0'].sort());
  });

  it('examines documents that are read one at a time because they are long', async () => {
    const long = (name: string, url: string) =>
      aServer(name, '1.0.0', {
        remotes: [{ type: 'sse', url }],
        _meta: { x: 'x'.repeat(70_000) },
      });
    for (const server of [
      long('com.long/a', 'https://long.example/mcp'),
      long('com.long/b', 'https://other.example/mcp'),
    ])
      expect((await service.post('/v1/entries', { server })).status).toBe(201);
    const block = { remotes: ['https://long.example/*'], reason: 'SEC-14' };
    expect((await service.post('/v1/blocks/preview', block)).json).toEqual({ matches: 1 });
    await service.put('/v1/blocks/long', block);
    expect(shortly(await itemsFor(service))).toEqual(['com.long/a@1.0.0: block']);
    // A changed block examines the versions that it holds.
    await service.put('/v1/blocks/long', { ...block, reason: 'SEC-15' });
    expect(shortly(await itemsFor(service))).toEqual(['com.long/a@1.0.0: block']);
    await service.put('/v1/blocks/long', { ...block, remotes: ['https://other.example/*'] });
    expect(shortly(await itemsFor(service))).toEqual(['com.long/b@1.0.0: block']);
    await service.delete('/v1/blocks/long');
    for (const name of ['com.long/a', 'com.long/b'])
      expect((await service.delete(entryAt('server', name, '/versions/1.0.0'))).status).toBe(204);
  });

  it('refuses publications, and restores published versions with their claims', async () => {
    await publish(service, 'server', 'com.pub/a', { team: 'x', org: ['b', 'a'] });
    await service.put('/v1/blocks/pub', { names: ['com.pub/*'], reason: 'SEC-13' });
    const next = { server: aServer('com.pub/a', '2.0.0'), claims: { team: 'x', org: ['a', 'b'] } };
    expectRefused(await service.post('/v1/entries', next), 403, 'blocked');
    expectRefused(
      await service.post('/v1/entries?dry_run=true', { server: aServer('com.pub/b') }),
      403,
      'blocked',
    );
    expect((await service.get('/v1/entries/server/com.pub%2Fa')).status).toBe(404);
    await service.delete('/v1/blocks/pub');
    expect((await service.get('/v1/entries/server/com.pub%2Fa')).json).toMatchObject({
      claims: { team: 'x', org: ['b', 'a'] },
      versions: [{ version: '1.0.0', isLatest: true }],
    });
    expect((await service.post('/v1/entries', { server: aServer('com.pub/b') })).status).toBe(201);
  });

  it.each<[string, Document]>([
    ['names nothing', { reason: 'x' }],
    ['has no reason', { names: ['a/*'] }],
    ['has an invalid range', { names: ['a/*'], versions: 'newest', reason: 'x' }],
    ['has an empty list', { names: [], reason: 'x' }],
    ['has an unknown type', { types: ['robot'], reason: 'x' }],
    ['has half a digest', { digests: ['abc'], reason: 'x' }],
    ['has an unknown member', { name: 'a/b', reason: 'x' }],
  ])('that %s is refused', async (_, block) => {
    expectRefused(await service.put('/v1/blocks/bad', block), 400, 'invalid_body');
    expect((await service.get('/v1/blocks/bad')).status).toBe(404);
  });

  it('is listed, read, replaced with its ETag, and recorded', async () => {
    const rule = { names: ['com.none/*'], reason: 'x' };
    const made = await service.put('/v1/blocks/listed', rule);
    expect(made.json).toMatchObject({ id: 'listed', ...rule });
    expect((await service.put('/v1/blocks/listed', rule)).status).toBe(200);
    expect((await service.get('/v1/blocks/listed')).json).toMatchObject({ id: 'listed', ...rule });
    expect((await service.get('/v1/blocks')).json).toMatchObject({
      blocks: [{ id: 'listed', ...rule }],
      metadata: { count: 1 },
    });
    await service.put('/v1/blocks/listed', { ...rule, reason: 'y' });
    await service.delete('/v1/blocks/listed');
    expectRefused(await service.delete('/v1/blocks/listed'), 404, 'block_not_found');
    const events = await service.get('/v1/audit?target=listed');
    expect((events.json as { events: { action: string; target: object }[] }).events).toMatchObject([
      { action: 'block.delete', target: { type: 'block', name: 'listed' } },
      { action: 'block.update' },
      { action: 'block.create' },
    ]);
  });
});

describe('the number of blocks', () => {
  const service = aService().source('published', { kind: 'managed' }).runs();

  it('is at most 1000, with at most 200 values per list', async () => {
    await service.database.query(
      `insert into block (id, rule) select 'b' || n, '{"names":["x/y"],"reason":"x"}' from generate_series(1, 999) n`,
    );
    const rule = { names: ['com.last/*'], reason: 'x' };
    expect((await service.put('/v1/blocks/last', rule)).status).toBe(201);
    expectRefused(await service.put('/v1/blocks/beyond', rule), 409, 'too_many_blocks');
    expect((await service.put('/v1/blocks/last', { ...rule, reason: 'y' })).status).toBe(200);
    const values = {
      names: '*',
      packages: { registryType: 'npm', identifier: 'x' },
      remotes: 'https://x.example/*',
      digests: 'a'.repeat(64),
    };
    for (const [list, value] of Object.entries(values)) {
      const put = (count: number) =>
        service.put('/v1/blocks/last', { [list]: Array(count).fill(value), reason: 'y' });
      expect((await put(200)).status).toBe(200);
      expectRefused(await put(201), 400, 'invalid_body');
    }
    const first = (await service.get('/v1/blocks?limit=100')).json as { metadata: { nextCursor: string } };
    expect(first).toMatchObject({ metadata: { count: 100 } });
    expect((await service.get(`/v1/blocks?cursor=${first.metadata.nextCursor}`)).json).toMatchObject({
      metadata: { count: 100 },
    });
  });
});

describe('blocks in full mode', () => {
  const service = aService({ mode: 'full' }).source('published', { kind: 'managed' }).runs();

  it('are available to super-admins only', async () => {
    const rule = { names: ['a/*'], reason: 'x' };
    for (const claims of [ACME_ADMIN, ACME_WRITER]) {
      expectRefused(await service.as(claims).put('/v1/blocks/one', rule), 403, 'role_required');
      expectRefused(await service.as(claims).get('/v1/blocks'), 403, 'role_required');
    }
    expect((await service.as(SUPER_ADMIN).put('/v1/blocks/one', rule)).status).toBe(201);
    expect((await anyone(service).get('/v1/blocks/one')).status).toBe(200);
  });
});
