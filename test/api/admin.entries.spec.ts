import { describe, expect, it } from 'vitest';
import { type AdminEntry, entriesIn, outcomeOf } from '../support/answers.js';
import { ACME_ADMIN } from '../support/callers.js';
import { aServer, aSkill } from '../support/documents.js';
import { aService } from '../support/service.js';

describe('GET /v1/sources/{name}/entries and /v1/registries/{name}/entries', () => {
  const claims = { org: 'acme' };
  const service = aService({ mode: 'full' })
    .source('first', {
      claims,
      servers: [
        aServer('io.acme/both', '1.0.0'),
        aServer('io.acme/both', '1.10.0'),
        aServer('io.acme/both', '1.9.0'),
      ],
      skills: [aSkill('io.acme/both', '1.0.0', { status: 'deprecated' })],
    })
    .source('second', {
      claims: { org: 'acme', team: 'data' },
      servers: [aServer('io.acme/both', '2.0.0'), aServer('io.acme/alone', '1.0.0')],
    })
    .source('empty', { claims, servers: [aServer('io.acme/x')], filter: { names: { include: ['none/*'] } } })
    .registry('main', { sources: ['first', 'second'], claims })
    .registry('empty', { sources: ['empty'], claims })
    .runs();
  const list = (path: string) => service.as(ACME_ADMIN).get(`/v1/${path}/entries`);
  const short = ({ type, name, versions }: AdminEntry) =>
    `${type} ${name} ${versions.map(({ version }) => version).join()}`;

  it('return claims and versions, newest first', async () => {
    const publishedAt = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as string;
    const version = (name: string, more: object) => ({
      version: name,
      status: 'active',
      isLatest: false,
      publishedAt,
      ...more,
    });
    const entries = entriesIn(await list('sources/first'));
    expect(entries).toMatchObject([
      {
        type: 'server',
        name: 'io.acme/both',
        claims,
        versions: [version('1.10.0', { isLatest: true }), version('1.9.0', {}), version('1.0.0', {})],
      },
      {
        type: 'skill',
        name: 'io.acme/both',
        claims,
        versions: [version('1.0.0', { isLatest: true, status: 'deprecated' })],
      },
    ]);
  });

  it('return the entries of all sources of a registry, including shadowed ones', async () => {
    expect(
      entriesIn(await list('registries/main'))
        .map(short)
        .sort(),
    ).toEqual([
      'server io.acme/alone 1.0.0',
      'server io.acme/both 1.10.0,1.9.0,1.0.0',
      'server io.acme/both 2.0.0',
      'skill io.acme/both 1.0.0',
    ]);
  });

  it.each(['sources/empty', 'registries/empty'])('return an empty list: %s', async (path) => {
    expect((await list(path)).json).toEqual({ entries: [], metadata: { count: 0 } });
  });

  it.each([
    ['sources/first', 1],
    ['sources/first', 2],
    ['registries/main', 1],
    ['registries/main', 2],
    ['registries/main', 3],
    ['registries/main', 4],
  ])('page through %s with limit %i without gaps or duplicates', async (path, limit) => {
    const seen: string[] = [];
    for (let next: string | undefined = `?limit=${limit}`; next !== undefined;) {
      const reply = await service.as(ACME_ADMIN).get(`/v1/${path}/entries${next}`);
      const { entries, metadata } = reply.json as {
        entries: AdminEntry[];
        metadata: { count: number; nextCursor?: string };
      };
      expect(entries.length).toBe(metadata.count);
      expect(entries.length).toBeLessThanOrEqual(limit);
      seen.push(...entries.map(short));
      next = metadata.nextCursor === undefined ? undefined : `?cursor=${metadata.nextCursor}`;
    }
    const all = (await list(path)).json as { entries: AdminEntry[] };
    expect(seen).toEqual(all.entries.map(short));
  });

  it.each(['sources/first', 'registries/main'])('refuse an invalid limit or cursor: %s', async (path) => {
    const caller = service.as(ACME_ADMIN);
    for (const query of ['limit=0', 'limit=x', 'limit=101'])
      expect(outcomeOf(await caller.get(`/v1/${path}/entries?${query}`))).toBe('400 invalid_parameter');
    for (const query of ['cursor=x', 'cursor=AAAA', 'cursor=W10'])
      expect(outcomeOf(await caller.get(`/v1/${path}/entries?${query}`))).toBe('400 invalid_cursor');
  });

  it('refuse a cursor from another list', async () => {
    const reply = await service.as(ACME_ADMIN).get('/v1/sources/first/entries?limit=1');
    const { nextCursor } = (reply.json as { metadata: { nextCursor: string } }).metadata;
    for (const path of [
      '/v1/registries/main/entries',
      '/v1/sources',
      '/v1/registries',
      '/registry/main/v0.1/servers',
    ])
      expect(outcomeOf(await service.as(ACME_ADMIN).get(`${path}?cursor=${nextCursor}`))).toBe(
        '400 invalid_cursor',
      );
  });
});
