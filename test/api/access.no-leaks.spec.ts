import { beforeAll, describe, expect, it } from 'vitest';
import { answerTo, expectSameAnswer } from '../support/same-answer.js';
import { ACME_ADMIN, ACME_PLATFORM, SUPER_ADMIN } from '../support/callers.js';
import { aServer, aSkill } from '../support/documents.js';
import type { Reply } from '../support/http.js';
import { expectRefused, withoutSources } from '../support/matchers.js';
import { aService } from '../support/service.js';

/** A hidden and a missing name of equal length, so that responses can be compared byte for byte. */
const SOURCES = ['hidden', 'absent'] as const;
const REGISTRIES = ['secret', 'nobody'] as const;
const ENTRIES = ['io.acme/veil', 'io.acme/none'] as const;

const TAGS = [
  { 'If-None-Match': '*' },
  { 'If-Match': '*' },
  { 'If-Match': '"x"' },
  { 'If-None-Match': '"x"' },
];
const READS = [
  { method: 'GET', tail: '' },
  { method: 'HEAD', tail: '' },
  { method: 'GET', tail: '/entries' },
  { method: 'GET', tail: '/entries?limit=1' },
  { method: 'GET', tail: '/nothing' },
];
const WRITES = [
  { method: 'DELETE', tail: '' },
  { method: 'POST', tail: '/sync' },
  { method: 'POST', tail: '' },
  { method: 'PATCH', tail: '' },
];

describe.each([
  { policy: {} },
  { policy: { arrayValues: 'any', unlabeled: 'deny', registryListing: 'readers' } },
])('hidden resources, policy $policy', ({ policy }) => {
  const isDefault = Object.keys(policy).length === 0;
  const service = aService({ mode: 'full', policy })
    .source('hidden', {
      claims: { org: 'contoso' },
      servers: [aServer('io.acme/veil'), aServer('io.acme/a-hidden'), aServer('io.acme/z-hidden')],
      skills: [aSkill('io.acme/veil')],
    })
    .source('shown', {
      claims: { org: 'acme' },
      servers: [aServer('io.acme/beta', '1.0.0'), aServer('io.acme/beta', '2.0.0'), aServer('io.acme/c')],
      skills: [aSkill('io.acme/beta')],
    })
    .registry('open', { sources: ['hidden', 'shown'], claims: { org: 'acme' } })
    .registry('secret', { sources: ['hidden'], claims: { org: 'contoso' } })
    .runs();

  const everything = async () => {
    const base = service.as(SUPER_ADMIN);
    const paths = [
      '/v1/sources/hidden',
      '/v1/sources/hidden/entries',
      '/v1/registries/secret',
      '/v1/registries',
    ];
    const replies = await Promise.all(paths.map((path) => base.get(path)));
    return replies.map(({ status, text }) => ({ status, text }));
  };
  const asked = (method: string, path: string, headers = {}, body?: unknown) =>
    answerTo(service.port, service.issuer.sign(ACME_ADMIN), { method, path, headers, body });

  describe.each(['config', 'api'])('with origin %s', (origin) => {
    // Preconditions do not depend on the policy, and nobody may change resources of the configuration.
    const tags = origin === 'api' && isDefault ? [{}, ...TAGS] : [{}];
    beforeAll(async () => {
      for (const table of ['source', 'registry'])
        await service.database.query(`update ${table} set origin = $1 where name in ('hidden', 'secret')`, [
          origin,
        ]);
    });

    it('exist for a super-admin', async () => {
      for (const path of ['/v1/sources/hidden', '/v1/registries/secret'])
        expect((await service.as(SUPER_ADMIN).get(path)).json).toMatchObject({ origin });
    });

    it.each([
      ['source', '/v1/sources', SOURCES],
      ['registry', '/v1/registries', REGISTRIES],
    ] as const)('respond to every verb as if the %s did not exist', async (noun, base, names) => {
      const before = await everything();
      for (const { method, tail } of [...READS, ...WRITES])
        for (const headers of tags) {
          const [hidden, missing] = [
            await asked(method, `${base}/${names[0]}${tail}`, headers),
            await asked(method, `${base}/${names[1]}${tail}`, headers),
          ];
          expectSameAnswer(hidden, missing, names);
          // A method the path does not support is 405 before any lookup.
          expect(hidden).toMatch(/^HTTP\/1\.1 40[45] /);
          expect(hidden).not.toMatch(/^etag:/im);
          if (method !== 'HEAD')
            expect(hidden).toMatch(new RegExp(`"code":"(?:(?:${noun}|route)_not_found|method_not_allowed)"`));
        }
      expect(await everything()).toEqual(before);
    });

    // PUT of a missing name creates it, so only the 404 of the hidden one is checked here.
    it.each([
      ['source', '/v1/sources/hidden', { managed: {}, claims: { org: 'acme' } }],
      ['registry', '/v1/registries/secret', { sources: ['shown'], claims: { org: 'acme' } }],
    ])('return the same 404 for any PUT of a %s and stay unchanged', async (noun, path, good) => {
      const before = await everything();
      const answers = new Set<string>();
      for (const body of [
        good,
        { ...good, claims: {} },
        { ...good, claims: { org: 'contoso' } },
        { no: 1 },
        {},
      ])
        for (const headers of tags) {
          const reply = await service.as(ACME_ADMIN).put(path, body, headers);
          expectRefused(reply, 404, `${noun}_not_found`);
          answers.add(reply.text.replace(/"requestId":"[^"]+"/, ''));
        }
      expect([...answers]).toHaveLength(1);
      expect(await everything()).toEqual(before);
    });
  });

  it('return 403 role_required before the name is looked up', async () => {
    const token = service.issuer.sign({ ...ACME_PLATFORM, org: 'contoso' });
    const bases = [
      ['/v1/sources', 'shown', SOURCES[1]],
      ['/v1/registries', 'open', REGISTRIES[1]],
    ];
    for (const [base, there, missing] of bases)
      for (const method of ['PUT', 'DELETE'])
        for (const name of [there, missing]) {
          const answer = await answerTo(service.port, token, { method, path: `${base}/${name}`, body: {} });
          expect(answer).toMatch(/^HTTP\/1\.1 403 [^]*"code":"role_required"/);
        }
  });

  it.each([
    '/registry/open/v0.1/servers/NAME/versions',
    '/registry/open/v0.1/servers/NAME/versions?include_deleted=true',
    '/registry/open/v0.1/servers/NAME/versions/latest',
    '/registry/open/v0.1/servers/NAME/versions/1.0.0',
    '/registry/open/v0/servers/NAME/versions/9.9.9',
    '/registry/open/v0.1/x/dev.toolhive/skills/io.acme/PART',
    '/registry/open/v0.1/x/dev.toolhive/skills/io.acme/PART/versions',
    '/registry/open/v0.1/x/dev.toolhive/skills/io.acme/PART/versions/1.0.0',
  ])('respond to GET and HEAD %s like a missing entry', async (path) => {
    const at = (name: string) =>
      path.replace('NAME', encodeURIComponent(name)).replace('PART', name.slice('io.acme/'.length));
    const known = (await service.as(SUPER_ADMIN).get(at(ENTRIES[0]))).headers['etag'];
    const conditions = [{ 'If-None-Match': '*' }, { 'If-None-Match': String(known) }];
    for (const headers of [{}, ...(isDefault ? conditions : [])])
      for (const method of ['GET', 'HEAD']) {
        const [hidden, missing] = [
          await asked(method, at(ENTRIES[0]), headers),
          await asked(method, at(ENTRIES[1]), headers),
        ];
        expectSameAnswer(hidden, missing, ENTRIES);
        expect(hidden).toMatch(/^HTTP\/1\.1 404 /);
        expect(hidden).not.toMatch(/^etag:/im);
      }
  });

  it.each([
    'search=veil',
    'search=hidden',
    'search=none',
    'version=9.9.9',
    'updated_since=2999-01-01T00:00:00Z',
  ])('are not found by %s', async (query) => {
    const reply = await service.as(ACME_ADMIN).get(`/registry/open/v0.1/servers?${query}`);
    expect(reply.text).toBe('{"servers":[],"metadata":{"count":0}}');
  });

  it('are absent from lists and counts, and cause no nextCursor', async () => {
    const lists: [string, string[]][] = [
      ['/v1/sources', ['shown']],
      ['/v1/registries', ['open']],
      ['/registry/open/v0.1/servers', ['io.acme/beta', 'io.acme/beta', 'io.acme/c']],
      ['/registry/open/v0.1/x/dev.toolhive/skills', ['beta']],
    ];
    for (const [path, names] of lists) {
      // A hidden row just after the last visible one must not cause a nextCursor.
      for (const limit of [names.length, names.length + 1]) {
        const reply = await service.as(ACME_ADMIN).get(`${path}?limit=${limit}`);
        expect(namesIn(reply)).toEqual(names);
        expect(metadataIn(reply)).toEqual({ count: names.length });
        expect(withoutSources(reply)).not.toMatch(/veil|hidden|secret/);
      }
    }
    const { json } = await service.as(ACME_ADMIN).get('/registry');
    expect(json).toEqual({ registries: [expect.objectContaining({ name: 'open' })] });
  });

  it('cause the same unknown_source as a missing source in a registry', async () => {
    const put = (source: string) =>
      asked('PUT', '/v1/registries/mine', {}, { sources: ['shown', source], claims: { org: 'acme' } });
    const [hidden, missing] = [await put(SOURCES[0]), await put(SOURCES[1])];
    expectSameAnswer(hidden, missing, SOURCES);
    expect(hidden).toMatch(/^HTTP\/1\.1 400 [^]*"code":"unknown_source"/);
  });
});

interface Body {
  metadata: { count: number; nextCursor?: string };
  [list: string]: unknown;
}

function metadataIn(reply: Reply): Body['metadata'] {
  return (reply.json as Body).metadata;
}

function namesIn(reply: Reply): string[] {
  expect(reply.status).toBe(200);
  return Object.entries(reply.json as Body)
    .flatMap(([key, rows]) => (key === 'metadata' ? [] : (rows as object[])))
    .map((row) => {
      const { name, server } = row as { name?: string; server?: { name: string } };
      return server?.name ?? name ?? '';
    });
}
