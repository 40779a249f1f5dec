import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { aServer } from '../support/documents.js';
import { figuresIn } from '../support/figures.js';
import { call } from '../support/http.js';
import { expectRefused } from '../support/matchers.js';
import { waitForLocks } from '../support/patient-reads.js';
import { aName, aPublication } from '../support/publishing.js';
import { aService } from '../support/service.js';

waitForLocks();

const LIST = '/registry/main/v0.1/servers';
const GATED = '/registry/gated/v0.1/servers';
const ROUTE = '/registry/:registry/v0.1/servers';

describe('request metrics', () => {
  const service = aService({ mode: 'full' })
    .source('tools', { servers: [aServer('io.acme/a')] })
    .source('made', { kind: 'managed' })
    .registry('main', { sources: ['tools', 'made'] })
    .registry('gated', { sources: ['tools'], claims: { org: 'acme' } })
    .runs();
  const reader = () => service.as({ sub: 'a-reader' });
  const figures = async () => figuresIn(await call(`${service.internalOrigin}/metrics`));
  /** Returns a function that computes the growth of these series; a missing series counts as 0. */
  const growth = async (series: readonly string[], happens: () => Promise<unknown>) => {
    const before = await figures();
    await happens();
    return async () => {
      const after = await figures();
      return series.map((name) => (after.get(name) ?? 0) - (before.get(name) ?? 0));
    };
  };
  const requests = (route: string, status: number, method = 'GET') =>
    `http_server_request_duration_seconds_count{http_request_method="${method}",http_route="${route}",http_response_status_code="${status}"}`;
  const errors = (code: string, route = ROUTE) =>
    `registry_errors_total{code="${code}",http_route="${route}"}`;
  const tokens = (outcome: string, reason: string, provider = 'corporate') =>
    `registry_authentications_total{provider="${provider}",outcome="${outcome}",reason="${reason}"}`;
  const pages = (outcome: string) => `registry_page_cache_requests_total{outcome="${outcome}"}`;

  it('count requests by route template, method and status', async () => {
    const grown = await growth([requests(ROUTE, 200), requests('/v1/entries', 201, 'POST')], async () => {
      await reader().get(LIST);
      await reader().get(`${LIST}?limit=1`);
      const writer = service.as({ role: 'writer', org: 'acme' });
      await writer.post('/v1/entries', aPublication('server', aName(), { org: 'acme' }));
    });
    await expect.poll(grown).toEqual([2, 1]);
  });

  it('use one label for all unknown paths, and one for unknown methods', async () => {
    const unmatched = requests('unmatched', 404);
    const grown = await growth([unmatched, errors('route_not_found', 'unmatched')], async () => {
      for (let count = 0; count < 20; count += 1)
        expectRefused(await reader().get(`/${randomUUID()}/${count}`), 404, 'route_not_found');
    });
    await expect.poll(grown).toEqual([20, 20]);
    const odd = await growth([requests('unmatched', 404, '_OTHER')], () =>
      reader().send('PROPFIND', '/nowhere'),
    );
    await expect.poll(odd).toEqual([1]);
    expect([...(await figures()).keys()].filter((series) => series.includes('PROPFIND'))).toEqual([]);
  });

  it('report requests in flight', async () => {
    await expect.poll(async () => (await figures()).get('http_server_active_requests')).toBe(0);
    await service.database.query('begin');
    await service.database.query('lock table source in access exclusive mode');
    const waiting = service.as({ role: 'admin' }).get('/v1/sources');
    await expect.poll(async () => (await figures()).get('http_server_active_requests')).toBe(1);
    const used = `db_client_connections{db_client_connection_pool_name="main",db_client_connection_state="used"}`;
    await expect.poll(async () => (await figures()).get(used)).toBeGreaterThanOrEqual(1);
    await service.database.query('rollback');
    expect((await waiting).status).toBe(200);
    await expect.poll(async () => (await figures()).get('http_server_active_requests')).toBe(0);
  });

  it('count refusals for a missing role and at the gate, and successful requests', async () => {
    const series = [
      errors('role_required', '/v1/sources'),
      errors('registry_forbidden'),
      requests(ROUTE, 200),
    ];
    const grown = await growth(series, async () => {
      expectRefused(await reader().get('/v1/sources'), 403, 'role_required');
      expectRefused(await reader().get(GATED), 403, 'registry_forbidden');
      expect((await service.as({ org: 'acme' }).get(GATED)).status).toBe(200);
    });
    await expect.poll(grown).toEqual([1, 1, 1]);
  });

  it('count authentications by provider, outcome and reason', async () => {
    const { issuer } = service;
    const past = Math.floor(Date.now() / 1_000) - 60;
    const cases: [token: string | null, series: string][] = [
      [issuer.sign({}), tokens('accepted', '')],
      [issuer.sign({ exp: past }), tokens('refused', 'expired')],
      [issuer.sign({ aud: 'another' }), tokens('refused', 'other_audience')],
      [issuer.sign({ iss: 'https://another.example' }), tokens('refused', 'other_issuer')],
      [`${issuer.sign({}).slice(0, -8)}AAAAAAAA`, tokens('refused', 'signature')],
      ['no-token-at-all', tokens('refused', 'no_jwt')],
      [null, tokens('refused', 'no_token', '')],
    ];
    for (const [token, series] of cases) {
      const grown = await growth([series], () =>
        (token === null ? service : service.bearing(token)).get(LIST),
      );
      await expect.poll(grown).toEqual([1]);
    }
  });

  it('distinguish cached pages from pages that were read', async () => {
    const path = `${LIST}?limit=7`;
    await expect.poll(await growth([pages('hit'), pages('miss')], () => reader().get(path))).toEqual([0, 1]);
    await expect.poll(await growth([pages('hit'), pages('miss')], () => reader().get(path))).toEqual([1, 0]);
  });

  it('count publications but not dry runs', async () => {
    const writer = service.as({ role: 'writer', org: 'acme' });
    const published = [`registry_publications_total{entry_type="server"}`];
    const name = aName();
    const dry = await growth(published, () =>
      writer.post('/v1/entries?dry_run=true', aPublication('server', name, { org: 'acme' })),
    );
    expect(await dry()).toEqual([0]);
    const grown = await growth(published, () =>
      writer.post('/v1/entries', aPublication('server', name, { org: 'acme' })),
    );
    await expect.poll(grown).toEqual([1]);
  });

  it('contain no callers, entries, claims or registry names', async () => {
    const text = (await call(`${service.internalOrigin}/metrics`)).text;
    expect(text).not.toMatch(/a-reader|io\.acme|gated|"acme"|127\.0\.0\.1/);
  });

  it('come with one log hint if no rule reads the roles in a token', async () => {
    const hints = () => service.logs().filter(({ msg }) => /realm_access|hasgroups/.test(msg));
    const nested = service.as({ realm_access: { roles: ['admin'] } });
    expect((await nested.get(LIST)).status).toBe(200);
    expect(hints()).toEqual([]);
    for (let count = 0; count < 3; count += 1)
      expectRefused(await nested.get('/v1/sources'), 403, 'role_required');
    await expect
      .poll(hints)
      .toEqual([
        expect.objectContaining({ level: 'warn', issuer: service.issuer.iss, code: 'role_required' }),
      ]);
    expectRefused(await service.as({ hasgroups: true }).get(GATED), 403, 'registry_forbidden');
    await expect.poll(() => hints().length).toBe(2);
  });
});
