import pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { answerTo } from '../support/same-answer.js';
import { ACME_ADMIN, CONTOSO_ADMIN, SUPER_ADMIN } from '../support/callers.js';
import { aServer, aSkill } from '../support/documents.js';
import type { Reply, Sender } from '../support/http.js';
import { aPublication, entryAt } from '../support/publishing.js';
import { aService } from '../support/service.js';

const ACME = { ...ACME_ADMIN, role: ['admin', 'writer'] };
const CONTOSO = { ...CONTOSO_ADMIN, role: ['admin', 'writer'] };
const THEIRS = { org: 'contoso' };
const OWN = { org: 'acme' };

describe.each([
  { policy: {} },
  { policy: { arrayValues: 'any', unlabeled: 'deny', registryListing: 'readers' } },
])('two tenants of one server, policy $policy', ({ policy }) => {
  const isDefault = Object.keys(policy).length === 0;
  const service = aService({ mode: 'full', policy })
    .source('managed', { kind: 'managed', claims: { owner: 'nobody' } })
    .source('blue', {
      claims: OWN,
      servers: ['b', 'm', 'y'].flatMap((name) => [
        aServer(`io.acme/${name}`, '1.0.0'),
        aServer(`io.acme/${name}`, '2.0.0'),
      ]),
      skills: [aSkill('io.acme/m')],
    })
    .source('red', { claims: THEIRS, servers: [aServer('io.acme/m', '9.0.0')] })
    .registry('shared', { sources: ['red', 'managed', 'blue'], claims: { org: 'acme' } })
    .runs();

  // Every request a tenant can send without changing anything.
  const QUESTIONS: [method: string, path: string, body?: unknown][] = [
    ['GET', '/v1/me'],
    ['GET', '/registry'],
    ...[
      '',
      '?limit=2',
      '?search=m',
      '?search=veil',
      '?version=latest',
      '?version=9.0.0',
      '?include_deleted=true',
      '?updated_since=2020-01-01T00:00:00Z',
      '/io.acme%2Fm/versions',
      '/io.acme%2Fm/versions/latest',
      '/io.acme%2Fm/versions/9.0.0',
      '/io.acme%2Fveil/versions',
      '/io.acme%2Fveil/versions/latest',
    ].map((below): [string, string] => ['GET', `/registry/shared/v0.1/servers${below}`]),
    ['GET', '/registry/shared/v0.1/x/dev.toolhive/skills'],
    ['GET', '/registry/shared/v0.1/x/dev.toolhive/skills?limit=1'],
    ['GET', '/v1/sources'],
    ['GET', '/v1/sources?limit=1'],
    ['GET', '/v1/sources/blue/entries?limit=1'],
    ['GET', '/v1/sources/veiled'],
    ['GET', '/v1/registries'],
    ['GET', '/v1/registries/shared'],
    ['GET', '/v1/registries/veiled'],
    ['DELETE', '/v1/sources/veiled'],
    ['DELETE', '/v1/registries/veiled'],
    ['POST', '/v1/sources/veiled/sync'],
    ['GET', '/v1/entries'],
    ['GET', '/v1/entries?limit=1'],
    ...['', '/claims', '/versions/1.0.0'].map((below): [string, string] => [
      'GET',
      entryAt('server', 'io.acme/veil', below),
    ]),
    ['DELETE', entryAt('server', 'io.acme/veil', '/versions/1.0.0')],
    ['PUT', entryAt('server', 'io.acme/veil', '/claims'), { claims: OWN }],
    ['PATCH', entryAt('server', 'io.acme/veil', '/status'), { status: 'deleted' }],
    ['POST', '/v1/entries/validate', aPublication('server', 'io.acme/other', THEIRS)],
    ['POST', '/v1/entries/validate', aPublication('skill', 'io.acme/veil', {})],
    ['PUT', '/v1/registries/mine', { sources: ['veiled'], claims: OWN }],
    ['PUT', '/v1/registries/mine', { sources: ['blue', 'veiled'], claims: OWN }],
    ['PUT', '/v1/registries/mine', { sources: ['veiled'], claims: THEIRS }],
  ];

  const answers = async () => {
    const token = service.issuer.sign(ACME);
    const found: Record<string, string> = {};
    for (const [method, path, body] of QUESTIONS)
      found[`${method} ${path} ${JSON.stringify(body)}`] = neutral(
        await answerTo(service.port, token, { method, path, body }),
      );
    return found;
  };

  it('get unchanged responses while the other tenant publishes, syncs and withdraws', async () => {
    const before = await answers();
    const theirs = service.as(CONTOSO);
    const actions: [what: string, () => Promise<Reply>, status: number][] = [
      ['publishes', () => theirs.post('/v1/entries', veil('1.0.0')), 201],
      ['publishes again', () => theirs.post('/v1/entries', veil('2.0.0')), 201],
      ['makes a source', () => theirs.put('/v1/sources/veiled', { ...aUrl(), claims: THEIRS }), 201],
      [
        'makes a registry',
        () => theirs.put('/v1/registries/veiled', { sources: ['veiled', 'red'], claims: THEIRS }),
        201,
      ],
      ['syncs', () => theirs.post('/v1/sources/veiled/sync'), 202],
      [
        'relabels',
        () =>
          theirs.put(entryAt('server', 'io.acme/veil', '/claims'), {
            claims: { org: 'contoso', sub: 'carl' },
          }),
        204,
      ],
      [
        'withdraws',
        () => theirs.patch(entryAt('server', 'io.acme/veil', '/status'), { status: 'deleted' }),
        200,
      ],
    ];
    for (const [what, act, status] of actions) {
      expect((await act()).status, what).toBe(status);
      // A comparison sends every request.
      if (what === 'withdraws' || (isDefault && !what.endsWith('again')))
        expect(await answers(), `after the other tenant ${what}`).toEqual(before);
    }
    // Control: the other tenant sees the changes.
    for (const path of ['/v1/sources/veiled', '/v1/registries/veiled', entryAt('server', 'io.acme/veil')])
      expect((await service.as(CONTOSO).get(path)).status).toBe(200);
    for (const path of [
      '/v1/registries/veiled',
      '/v1/sources/veiled',
      entryAt('server', 'io.acme/veil', '/versions/1.0.0'),
      entryAt('server', 'io.acme/veil', '/versions/2.0.0'),
    ])
      expect((await theirs.delete(path)).status).toBe(204);
    expect(await answers()).toEqual(before);
  });

  describe('while a change locks a hidden source', () => {
    let other: pg.Client;
    afterAll(() => other.end());

    it('a registry that uses it is refused with unknown_source immediately', async () => {
      const { host, port, user, database } = service.database;
      other = new pg.Client({ host, port, user, database });
      await other.connect();
      await other.query('begin');
      await other.query(`update source set revision = revision where name = 'red'`);
      const put = (as: Sender) => as.put('/v1/registries/mine', { sources: ['red'], claims: OWN });
      // Waiting for the lock, which is still held, would end in 503 and reveal the source.
      expect((await put(service.as(ACME))).json).toMatchObject({ code: 'unknown_source' });
      const waiting = put(service.as(SUPER_ADMIN));
      await other.query('rollback');
      expect((await waiting).status).toBe(201);
      expect((await service.as(SUPER_ADMIN).delete('/v1/registries/mine')).status).toBe(204);
    });
  });

  function veil(version: string): object {
    return aPublication('server', 'io.acme/veil', THEIRS, version);
  }

  function aUrl(): object {
    return { file: { url: 'https://192.0.2.1/registry.json' }, syncPolicy: { interval: '1h' } };
  }
});

function neutral(answer: string): string {
  const [, id = '(none)'] = /^x-request-id: (\S+)/im.exec(answer) ?? [];
  return answer.replaceAll(id, '(id)').replaceAll(/^date: .*$/gim, 'Date: (now)');
}
